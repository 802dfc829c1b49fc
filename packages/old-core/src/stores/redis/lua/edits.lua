-- Edits: every operation on a key other than consume and peek.
local perform
if string.find(kinds, "E", 1, true) then
  local IDENTITY_KEPT_MS = 60000

  -- Whether a refund was performed before: a client may send it again.
  local function is_repeated(identity)
    local is_new = redis.call("SET", KEYS[identity_keys_from + identity], "", "NX", "PXAT", now_ms + IDENTITY_KEPT_MS)
    has_repeated = has_repeated or not is_new
    return not is_new
  end

  -- Refunds or charges units. A charge needs no state; a refund does.
  local function settle(op, key, plan, cost, identity, by_ms)
    if by_ms and now_ms >= by_ms or identity and is_repeated(identity) then
      return false
    end
    local states, changed = split(texts[key], plan.count), false
    for j = 1, plan.count do
      local until_ms, holder = tonumber(ARGV[at + 2 + j]), ARGV[at + 3 + plan.count]
      local algorithm, after = plan[j].algorithm, false
      local is_asked = until_ms ~= 0
      if until_ms == -1 then
        until_ms, is_asked = nil, not algorithm.renew
      end
      local state, external = states[j] ~= "" and states[j], external_state_of(key, plan[j], j, states[j])
      if external and state then
        algorithm.select(plan[j], state, 0, now_ms, external)
      end
      if op == "refund" and state and is_asked then
        after = algorithm.refund(plan[j], state, cost, until_ms, now_ms, external, holder)
      elseif op == "charge" and is_asked then
        after = algorithm.charge(plan[j], state, cost, until_ms, now_ms, external)
      end
      changed = changed or after
      states[j] = after or states[j]
    end
    return changed and table.concat(states, " ")
  end

  -- Releases or renews the slots of a holder.
  local function hold(op, key, plan, cost, holder)
    local states, changed = split(texts[key], plan.count), false
    for j = 1, plan.count do
      local algorithm = plan[j].algorithm
      if algorithm.renew and states[j] ~= "" then
        local external = external_state_of(key, plan[j], j, states[j])
        local after
        if op == "renew" then
          after = algorithm.renew(plan[j], states[j], cost, now_ms, external, holder)
        else
          after = algorithm.refund(plan[j], states[j], cost, 0, now_ms, external, holder)
        end
        changed = changed or after
        states[j] = after or states[j]
      end
    end
    return changed and table.concat(states, " ")
  end

  local function forget_units(key)
    local before = denials[key]
    denials[key] = before and before[2] > 0 and { 0, before[2], before[3] } or nil
    return ""
  end

  -- Cuts states that a clock which ran ahead has left behind. Twin of heal-state.ts.
  local function heal(key, plan)
    local states, changed = split(texts[key], plan.count), false
    for j = 1, plan.count do
      local policy, state = plan[j], states[j]
      local algorithm, external = policy.algorithm, external_state_of(key, policy, j, state)
      if state ~= "" then
        if external then
          algorithm.select(policy, state, 0, now_ms, external)
        end
        local _, latest_ms = algorithm.migrate(policy, MOST_UNITS, now_ms, nil, nil, external)
        if algorithm.reset_at_ms(policy, state) > latest_ms then
          local units, after = algorithm.used(policy, state, now_ms, external), ""
          if algorithm.heal then
            after = algorithm.heal(policy, state, now_ms, external)
          elseif units > 0 then
            after = algorithm.migrate(policy, units, now_ms, nil, nil, external)
          end
          states[j], changed = after, true
        end
      end
    end
    return changed and table.concat(states, " ")
  end

  function perform(op, upto)
    local key, plan, number = tonumber(ARGV[at]), plans[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
    reading = key
    local after = text_of(key, plan)
    if failed[key] then
      return
    end
    if plan.version then
      if not migrate(key, plan) then
        return
      end
      after = texts[key]
    end
    end_of(plan, after) -- fails on a state that cannot be read, so that no edit overwrites it
    if op == "refund" or op == "charge" then
      local next_at = at + 3 + plan.count + (has_external and 1 or 0)
      local identity = has_identities and op == "refund" and tonumber(ARGV[next_at])
      local by_at = identity and next_at + 1 or next_at
      after = settle(op, key, plan, number, identity, by_at < upto and tonumber(ARGV[by_at]))
    elseif op == "release" or op == "renew" then
      after = hold(op, key, plan, number, ARGV[at + 3])
    elseif op == "heal" then
      after = now_ms < number and heal(key, plan)
    elseif op == "block" then
      blocked_until_ms[key] = now_ms + number
      after = ARGV[at + 3] == "1" and forget_units(key) or after
    elseif op == "unblock" then
      blocked_until_ms[key], denials[key] = 0, nil
    else
      after = forget_units(key)
    end
    if after then
      if not string.find(after, "%d") then
        after = ""
      end
      texts[key], reset_at_ms[key], plan_of[key] = after, end_of(plan, after), plan
    end
  end
end
