--[[
Writes the record of one override, if the record is still the one that the caller has read, and publishes the change.

KEYS  the hash of overrides; the sorted set of their names by the revision of their last change
ARGV  the override's name, its record before ("" when there was none), its record, the channel
reply 1, or 0 if the record has changed
]]
local before = redis.call("HGET", KEYS[1], ARGV[1]) or ""
if before ~= ARGV[2] then
  return 0
end
-- The revision is an instant, so that after a loss no new revision equals an old one, and later than all others.
local time = redis.call("TIME")
local newest = redis.call("ZREVRANGEBYSCORE", KEYS[2], "+inf", "-inf", "WITHSCORES", "LIMIT", 0, 1)[2]
local revision = math.max(time[1] * 1000000 + time[2], tonumber(newest or 0) + 1)
redis.call("HSET", KEYS[1], ARGV[1], ARGV[3])
redis.call("ZADD", KEYS[2], string.format("%d", revision), ARGV[1])
redis.pcall("PUBLISH", ARGV[4], ARGV[1]) -- without the permission to publish the record is put all the same, and polling finds it
return 1
