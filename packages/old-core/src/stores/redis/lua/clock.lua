-- The clock: the whole call is decided at one instant.
local time = redis.call("TIME")
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local LATEST_MS = 9007199254740991 -- 2^53 - 1
