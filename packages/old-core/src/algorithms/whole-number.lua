--[[
Numbers in values: digits, and no more of them than are exact. Twin of toInteger in instant-and-field.ts.
]]
-- Returns digits as a number; fails on anything else, and on more than is exact.
local function to_integer(digits)
  local value = digits and tonumber(digits)
  if not value or value > 9007199254740991 then -- 2^53 - 1
    error("not a whole number")
  end
  return value
end
