--[[
Reads a list of lines.

KEYS  the list
ARGV  the longest list that is returned, in bytes
reply the present instant, in milliseconds; the list: "" if there is none, or it is longer
]]
local time, list = redis.call("TIME"), redis.call("GET", KEYS[1]) or ""
local now = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
return { now, #list > tonumber(ARGV[1]) and "" or list }
