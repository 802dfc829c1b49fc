--[[
The layout that most states share: an instant in ms and one more integer. Twin of instant-and-field.ts.
]]
local function encode_pair(instant_ms, field)
  if field < 1000000 then
    return string.format("%d%06d", instant_ms, field)
  end
  return string.format("%d:%d", instant_ms, field)
end

local function decode_pair(text)
  local colon = string.find(text, ":", 1, true)
  if colon then
    return tonumber(string.sub(text, 1, colon - 1)), tonumber(string.sub(text, colon + 1))
  end
  return tonumber(string.sub(text, 1, -7)), tonumber(string.sub(text, -6)) -- split before tonumber: 19 digits do not fit a double
end
