-- Reads values: the prefixes before the states, and the states of several policies.
local function read(key)
  local value = redis.pcall("GET", KEYS[key])
  texts[key], blocked_until_ms[key] = "", 0
  if type(value) == "table" then
    failed[key] = true
    reply[key + 1] = { value.err }
    return ""
  end
  reply[key + 1] = value
  local first = value and string.byte(value)
  if first == 33 then -- !
    local instant, states = string.match(value, "^!(%d+)!(.*)$")
    blocked_until_ms[key] = to_integer(instant)
    value, first = states, string.byte(states)
  end
  if first == 94 then -- ^
    local count, blocks, forgotten_at, states = string.match(value, "^%^(%d+):(%d+):(%d+)%^(.*)$")
    denials[key] = { to_integer(count), to_integer(blocks), to_integer(forgotten_at) }
    value = states
  end
  texts[key] = value or ""
  return texts[key]
end

-- Returns the states in a text, one per policy, "" for none. Fails on a text with fewer states.
local function split(text, count)
  local states, from = {}, 1
  for j = 1, count do
    local ending = j < count and string.find(text, " ", from, true) or #text + 1
    if j < count and ending > #text and text ~= "" then
      error("states of fewer policies")
    end
    states[j] = string.sub(text, from, ending - 1)
    from = ending + 1
  end
  return states
end

-- Returns the instant at which the last state in a text ends. Fails on a state that cannot be read.
local function end_of(plan, text)
  local states, latest_ms = split(text, plan.count), 0
  for j = 1, plan.count do
    if states[j] ~= "" then
      latest_ms = math.max(latest_ms, plan[j].algorithm.reset_at_ms(plan[j], states[j]))
    end
  end
  return latest_ms
end
