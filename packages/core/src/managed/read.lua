--[[
Returns records in the order of their changes: those after a revision, or all of them from the start.

KEYS  the hash of records by name; the sorted set of their names by the revision of their last change; the list of the
      last revisions, newest first
ARGV  the revision that the caller has read up to, or ""; how many records are returned at most; "1" if this continues
      the page before
reply { the server's instant in ms, 1 if the records are from the start (else 0), 1 if there is more (else 0), the
      revision that the caller has then read up to, name, record, name, record... }
]]
local known, max = ARGV[1], tonumber(ARGV[2])
-- A revision that is not in the list was lost with later ones (a flush, an older snapshot, a failover), or is too old.
local has_lost = redis.call("EXISTS", KEYS[1], KEYS[2]) < 2 or not redis.call("LPOS", KEYS[3], known)
local from_start = known == "" or ARGV[3] == "" and has_lost
local after = from_start and "-inf" or "(" .. known
local found = redis.call("ZRANGEBYSCORE", KEYS[2], after, "+inf", "WITHSCORES", "LIMIT", 0, max)
local time = redis.call("TIME")
local now = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
local reply = { now, from_start and "1" or "0", #found == max * 2 and "1" or "0", from_start and "" or known }
local names = {}
for i = 1, #found, 2 do
  names[#names + 1], reply[4] = found[i], found[i + 1]
end
local records = #names > 0 and redis.call("HMGET", KEYS[1], unpack(names)) or {}
for i = 1, #names do
  if records[i] then
    reply[#reply + 1], reply[#reply + 2] = names[i], records[i]
  end
end
if #names < max then
  reply[4] = redis.call("LINDEX", KEYS[3], 0) or reply[4] -- that of a record that was deleted, perhaps
end
return reply
