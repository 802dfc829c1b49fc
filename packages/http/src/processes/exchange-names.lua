--[[
Writes the policies of names, and returns what was written there before.

KEYS  a key for each name
ARGV  for how long they are kept, in milliseconds; then the text for each name
reply the earlier text for each name, or ""
]]
local before = {}
for i = 1, #KEYS do
  before[i] = redis.call("GET", KEYS[i]) or ""
  redis.call("SET", KEYS[i], ARGV[i + 1], "PX", ARGV[1])
end
return before
