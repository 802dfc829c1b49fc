--[[
Returns the overrides that have changed since a revision, in the order of their changes.

KEYS  the hash of overrides: their records by their names; the sorted set of their names by the revision of their last
      change
ARGV  the known revision, or "" for all; how many are returned at most
reply { the server's instant in milliseconds, 1 if all follow (else 0), 1 if there is more (else 0), the revision of the
      last one returned, name, record, name, record... }
]]
local known, most = ARGV[1], tonumber(ARGV[2])
local newest = redis.call("ZREVRANGEBYSCORE", KEYS[2], "+inf", "-inf", "WITHSCORES", "LIMIT", 0, 1)[2]
-- A set that went back, or is gone, was lost, and restored perhaps.
local from_start = known == "" or tonumber(known) > tonumber(newest or 0)
local after = from_start and "-inf" or "(" .. known
local found = redis.call("ZRANGEBYSCORE", KEYS[2], after, "+inf", "WITHSCORES", "LIMIT", 0, most)
local time = redis.call("TIME")
local now = string.format("%d%03d", time[1], math.floor(time[2] / 1000))
local reply = { now, from_start and 1 or 0, #found == most * 2 and 1 or 0, from_start and "0" or known }
for i = 1, #found, 2 do
  local record = redis.call("HGET", KEYS[1], found[i])
  if record then
    reply[#reply + 1], reply[#reply + 2] = found[i], record
  end
  reply[4] = found[i + 1]
end
return reply
