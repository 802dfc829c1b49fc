--[[
The layout that most states share: an instant in ms and one more integer. Twin of instant-and-field.ts.
]]
local function encode_pair(instant_ms, field)
  if field < 1000000 then
    return string.format("%d%06d", instant_ms, field)
  end
  return string.format("%d:%d", instant_ms, field)
end

-- Raises an error for what encode_pair does not write.
local function decode_pair(text)
  local colon = string.find(text, ":", 1, true)
  local instant_ms, field
  if colon then
    instant_ms, field = tonumber(string.sub(text, 1, colon - 1)), tonumber(string.sub(text, colon + 1))
  else -- split before tonumber: 19 digits do not fit a double
    instant_ms, field = tonumber(string.sub(text, 1, -7)), tonumber(string.sub(text, -6))
  end
  if not (instant_ms >= 0 and instant_ms <= 9007199254740991 and field >= 0 and field <= 9007199254740991) then
    error("not an instant and a field")
  end
  return instant_ms, field
end
