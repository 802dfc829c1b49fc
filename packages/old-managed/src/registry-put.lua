--[[
Writes the record of one policy, if the record is still the one that the caller has read, and publishes the change.

KEYS  the hash of policies, whose name is also that of the channel
ARGV  the policy's name, its record before ("" when there was none), its record
reply 1, or 0 if the record has changed
]]
local before = redis.call("HGET", KEYS[1], ARGV[1]) or ""
if before ~= ARGV[2] then
  return 0
end
-- The revision is an instant, so that after a loss no new revision equals an old one.
local time = redis.call("TIME")
redis.call("HSET", KEYS[1], ARGV[1], ARGV[3], "#revision", string.format("%d%06d", time[1], time[2]))
redis.pcall("PUBLISH", KEYS[1], ARGV[1]) -- without the permission to publish the record is put all the same, and polling finds it
return 1
