--[[
Numbers in what a key holds: digits, and no more of them than are exact. Twin of toInteger in instant-and-field.ts.
]]
-- Digits as a number; raises an error for what is more, or nothing.
local function to_integer(digits)
  local value = digits and tonumber(digits)
  if not value or value > 9007199254740991 then -- 2^53 - 1
    error("not a whole number")
  end
  return value
end
