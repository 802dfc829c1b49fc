--[[
Returns the policies, or only the revision if nothing has changed since that revision.

KEYS  the hash of policies: their records by their names, and `#revision`
ARGV  the known revision, or ""
reply the revision, if it is the known one; else { revision or "", name, record, name, record... }
]]
local revision = redis.call("HGET", KEYS[1], "#revision") or ""
if revision ~= "" and revision == ARGV[1] then
  return revision
end
local reply = redis.call("HGETALL", KEYS[1])
table.insert(reply, 1, revision)
return reply
