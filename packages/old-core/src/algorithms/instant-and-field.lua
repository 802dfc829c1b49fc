--[[
The layout of most states: an instant in ms and one more integer. Twin of instant-and-field.ts.
]]
local MOST_UNITS = 4503599627370496 -- 2^52: as in numbers.ts

local function encode_pair(instant_ms, field)
  if field < 1000000 then
    return string.format("%d%06d", instant_ms, field)
  end
  return string.format("%d:%d", instant_ms, field)
end

-- Fails on a text that encode_pair does not write. Calls no function of this script: most decisions read one state,
-- and making and calling a function is a measurable part of their cost.
local function decode_pair(text)
  local instant_ms, field = string.match(text, "^(%d+)(%d%d%d%d%d%d)$") -- 19 digits do not fit a double
  if not instant_ms then
    instant_ms, field = string.match(text, "^(%d+):(%d+)$")
  end
  instant_ms, field = tonumber(instant_ms), tonumber(field)
  if not instant_ms or instant_ms > 9007199254740991 or field > 9007199254740991 then -- 2^53 - 1
    error("not an instant and a whole number")
  end
  return instant_ms, field
end
