-- Restores values that were evicted while their external states were not: slots stay held.
-- Returns the text of a key, which is read when it is first needed. A missing one is restored from the external states
-- that are left, as if the current policy version had written it.
local function text_of(key, plan)
  if texts[key] then
    return texts[key]
  end
  local text = read(key)
  if not has_external or reply[key + 1] then
    return text
  end
  local states = {}
  for j = 1, plan.count do
    local external = plan[j].algorithm.restore and external_state_of(key, plan[j], j, "")
    states[j] = external and plan[j].algorithm.restore(external) or ""
  end
  text = table.concat(states, " ")
  if string.find(text, "%d") then
    texts[key], versions[key] = text, plan.version
    reply[key + 1] = plan.version and string.format("%d;%s", plan.version, text) or text
  end
  return texts[key]
end
