--[[
External states: states with a key of their own, for algorithms whose states are long. The value of the main key holds
a summary. During a call the text of such a state is its summary and the changes since; the external state is opened
when a request first needs it, and saved at the end of the call.
]]
-- Returns the external state of the policy with number j under a key; nil for a policy without external states.
local function external_state_of(key, policy, j, text)
  if not policy.algorithm.external then
    return nil
  end
  local id = string.format("%s%d", policy.algorithm.kind, j)
  external_states[key] = external_states[key] or {}
  local external = external_states[key][id] or policy.algorithm.open(external_keys[key][id])
  external_states[key][id] = external
  if not external.text and string.find(text, "^%d+:?%d*$") then -- a summary, not a text of this call
    policy.algorithm.load(external, text, now_ms)
  end
  return external
end

-- Returns the value before the call, each summary with the selected part of its external state.
local function project_external(key, value)
  local before, states = "", value
  for _, prefix in ipairs({ "^!%d+!", "^%^[%d:]+%^", has_versions and "^%d+;" or "^!" }) do
    local _, ending = string.find(states, prefix)
    before, states = before .. string.sub(states, 1, ending or 0), string.sub(states, (ending or 0) + 1)
  end
  local projected, j = {}, 0
  for state in string.gmatch(states .. " ", "([^ ]*) ") do
    j = j + 1
    projected[j] = state
  end
  for id, external in pairs(external_states[key]) do
    if external.text then
      projected[tonumber(string.sub(id, 2))] = algorithms[string.sub(id, 1, 1)].project(external, now_ms)
    end
  end
  return before .. table.concat(projected, " ")
end

-- Saves the external states of a key and returns its text with summaries alone.
local function save_external(key, expire_at_ms)
  local plan = plan_of[key]
  local text = texts[key]
  local states, saved = split(text, plan.count), {}
  for j = 1, plan.count do
    local algorithm = plan[j].algorithm
    local id = string.format("%s%d", algorithm.kind, j)
    if algorithm.external and states[j] ~= "" then
      local index = external_keys[key][id]
      saved[id] = true
      local external = external_states[key] and external_states[key][id]
      if external and external.text ~= states[j] then -- else it is as it was
        states[j] = algorithm.save(external, states[j], now_ms)
      end
      redis.call("PEXPIREAT", KEYS[index], string.format("%d", expire_at_ms))
    end
  end
  for id, index in pairs(external_keys[key]) do
    if not saved[id] then
      redis.call("DEL", KEYS[index])
    end
  end
  return text ~= "" and table.concat(states, " ") or ""
end
