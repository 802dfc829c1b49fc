--[[
The layout that most states share: an instant in ms and one more integer. Twin of instant-and-field.ts.
]]
local MOST_UNITS = 4503599627370496 -- 2^52: as in numbers.ts

local function encode_pair(instant_ms, field)
  if field < 1000000 then
    return string.format("%d%06d", instant_ms, field)
  end
  return string.format("%d:%d", instant_ms, field)
end

-- Digits as a number; raises an error for what is more, or nothing.
local function to_integer(digits)
  local value = digits and tonumber(digits)
  if not value or value > 9007199254740991 then -- 2^53 - 1
    error("not a whole number")
  end
  return value
end

-- Raises an error for what encode_pair does not write.
local function decode_pair(text)
  local instant_ms, field = string.match(text, "^(%d+)(%d%d%d%d%d%d)$") -- 19 digits do not fit a double
  if not instant_ms then
    instant_ms, field = string.match(text, "^(%d+):(%d+)$")
  end
  return to_integer(instant_ms), to_integer(field)
end
