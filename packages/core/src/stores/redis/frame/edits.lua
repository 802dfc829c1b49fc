-- What is done to a key beside taking units.
local perform
if string.find(kinds, "E", 1, true) then
  -- What is charged may be of a policy without a state; what is given back is not.
  local function settle(what, key, plan, cost, by_ms)
    if by_ms and now_ms >= by_ms then
      return false
    end
    local states, changed = split(texts[key], plan.count), false
    for j = 1, plan.count do
      local until_ms, holder = tonumber(ARGV[at + 2 + j]), ARGV[at + 3 + plan.count]
      local algorithm, after = plan[j].algorithm, false
      local state, detail = states[j] ~= "" and states[j], detail_of(key, plan[j], j, states[j])
      if detail and state then
        algorithm.look(plan[j], state, 0, now_ms, detail)
      end
      if what == "refund" and state and until_ms > 0 then
        after = algorithm.refund(plan[j], state, cost, until_ms, now_ms, detail, holder)
      elseif what == "charge" and until_ms > 0 then
        after = algorithm.charge(plan[j], state, cost, until_ms, now_ms, detail)
      end
      changed = changed or after
      states[j] = after or states[j]
    end
    return changed and table.concat(states, " ")
  end

  -- Releases or renews the slots of a holder.
  local function hold(what, key, plan, cost, holder)
    local states, changed = split(texts[key], plan.count), false
    for j = 1, plan.count do
      local algorithm = plan[j].algorithm
      if algorithm.renew and states[j] ~= "" then
        local detail = detail_of(key, plan[j], j, states[j])
        local after
        if what == "renew" then
          after = algorithm.renew(plan[j], states[j], cost, now_ms, detail, holder)
        else
          after = algorithm.refund(plan[j], states[j], cost, 0, now_ms, detail, holder)
        end
        changed = changed or after
        states[j] = after or states[j]
      end
    end
    return changed and table.concat(states, " ")
  end

  function perform(what, upto)
    local key, plan, number = tonumber(ARGV[at]), plans[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
    reading = key
    local after = texts[key] or read(key)
    if failed[key] then
      return
    end
    if plan.version then
      if not bring_over(key, plan) then
        return
      end
      after = texts[key]
    end
    end_of(plan, after) -- fails on what cannot be read, so that no edit covers it up
    if what == "refund" or what == "charge" then
      local by_at = at + 3 + plan.count + (has_details and 1 or 0)
      after = settle(what, key, plan, number, by_at < upto and tonumber(ARGV[by_at]))
    elseif what == "release" or what == "renew" then
      after = hold(what, key, plan, number, ARGV[at + 3])
    elseif what == "block" then
      blocked_until_ms[key] = now_ms + number
    elseif what == "unblock" then
      blocked_until_ms[key], refusals[key] = 0, nil
    else
      after = ""
      local before = refusals[key]
      refusals[key] = before and before[2] > 0 and { 0, before[2], before[3] } or nil
    end
    if after then
      if not string.find(after, "%d") then
        after = ""
      end
      texts[key], reset_at_ms[key], plan_of[key] = after, end_of(plan, after), plan
    end
  end
end
