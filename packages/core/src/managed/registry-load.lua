--[[
Reads the policies, unless nothing has changed since the last time.

KEYS  the hash of policies: their records by their names, and `#revision`
ARGV  the revision that is known, or ""
reply the revision, when it is that one; else { revision or "", name, record, name, record... }
]]
local revision = redis.call("HGET", KEYS[1], "#revision") or ""
if revision ~= "" and revision == ARGV[1] then
  return revision
end
local reply = redis.call("HGETALL", KEYS[1])
table.insert(reply, 1, revision)
return reply
