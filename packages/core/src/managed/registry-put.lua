--[[
Writes one policy's record, if it is still what the caller has seen, and tells everybody.

KEYS  the hash of policies, whose name is also that of the channel
ARGV  the policy's name, its record before ("" when there was none), its record
reply 1, or 0 when somebody else was faster
]]
local before = redis.call("HGET", KEYS[1], ARGV[1]) or ""
if before ~= ARGV[2] then
  return 0
end
-- An instant: what is written after everything was lost is not taken for what was known before.
local time = redis.call("TIME")
redis.call("HSET", KEYS[1], ARGV[1], ARGV[3], "#revision", string.format("%d%06d", time[1], time[2]))
redis.pcall("PUBLISH", KEYS[1], ARGV[1]) -- who may not publish has put it all the same: it is found by asking
return 1
