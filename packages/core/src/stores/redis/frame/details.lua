--[[
Details: keys of their own for the states of algorithms that are `apart`. Within a call the text of such a state is its
outline and what has been done to it since; the detail is opened when it is first needed, and written at the end.
]]
-- The detail of the policy with place j under a key; nil for a policy whose states have none.
local function detail_of(key, policy, j, text)
  if not policy.algorithm.apart then
    return nil
  end
  local id = string.format("%s%d", policy.algorithm.kind, j)
  details[key] = details[key] or {}
  local detail = details[key][id] or policy.algorithm.open(detail_keys[key][id])
  details[key][id] = detail
  if not detail.text and string.find(text, "^%d+:?%d*$") then -- an outline, and no text of this call
    policy.algorithm.attach(detail, text, now_ms)
  end
  return detail
end

-- As decide, for each policy by itself, as far as they admit: what comes of the whole, the client works out from what is
-- noted here.
local function decide_each(key, plan, text, cost, holder)
  local states, latest_ms, allowed = split(text, plan.count), 0, true
  for j = 1, plan.count do
    local algorithm, state = plan[j].algorithm, states[j] ~= "" and states[j]
    local detail = detail_of(key, plan[j], j, states[j])
    if detail then
      algorithm.look(plan[j], state, cost, now_ms, detail, holder)
    end
    if cost > 0 then
      local after, over_at_ms = algorithm.decide(plan[j], state, cost, now_ms, detail, holder)
      allowed = allowed and after
      states[j] = after or states[j]
      latest_ms = math.max(latest_ms, over_at_ms or 0)
    end
  end
  return table.concat(states, " "), latest_ms, allowed
end

-- The value as it was, its outlines with what the requests asked about.
local function with_details(key, value)
  local before, states = "", value
  for _, prefix in ipairs({ "^!%d+!", "^%^[%d:]+%^", has_editions and "^%d+;" or "^!" }) do
    local _, ending = string.find(states, prefix)
    before, states = before .. string.sub(states, 1, ending or 0), string.sub(states, (ending or 0) + 1)
  end
  local shown, j = {}, 0
  for state in string.gmatch(states .. " ", "([^ ]*) ") do
    j = j + 1
    shown[j] = state
  end
  for id, detail in pairs(details[key]) do
    if detail.text then
      shown[tonumber(string.sub(id, 2))] = algorithms[string.sub(id, 1, 1)].shown(detail, now_ms)
    end
  end
  return before .. table.concat(shown, " ")
end

-- Writes the details of a key, and answers its text with nothing but outlines.
local function save_details(key, expire_at_ms)
  local plan = plan_of[key]
  local text = texts[key]
  local states, saved = split(text, plan.count), {}
  for j = 1, plan.count do
    local algorithm = plan[j].algorithm
    local id = string.format("%s%d", algorithm.kind, j)
    if algorithm.apart and states[j] ~= "" then
      local place = detail_keys[key][id]
      saved[id] = true
      local detail = details[key] and details[key][id]
      if detail and detail.text ~= states[j] then -- else it is as it was
        states[j] = algorithm.save(detail, states[j], now_ms)
      end
      redis.call("PEXPIREAT", KEYS[place], string.format("%d", expire_at_ms))
    end
  end
  for id, place in pairs(detail_keys[key]) do
    if not saved[id] then
      redis.call("DEL", KEYS[place])
    end
  end
  return text ~= "" and table.concat(states, " ") or ""
end
