-- The states in a text of several: one per policy, "" for none.
local function split(text, count)
  local states, from = {}, 1
  for j = 1, count do
    local ending = j < count and string.find(text, " ", from, true) or #text + 1
    states[j] = string.sub(text, from, ending - 1)
    from = ending + 1
  end
  return states
end
