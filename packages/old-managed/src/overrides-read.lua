--[[
Returns the record of one override.

KEYS  the hash of overrides; the sorted set of their names by the revision of their last change
ARGV  the override's name
reply its record, or nil
]]
return redis.call("HGET", KEYS[1], ARGV[1])
