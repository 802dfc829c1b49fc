--[[
Reads lists of lines.

KEYS  the lists
ARGV  the longest list that is returned, in bytes
reply the present instant, in milliseconds; each list: "" if there is none, or it is longer
]]
local time, reply = redis.call("TIME"), {}
reply[1] = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
for i = 1, #KEYS do
  local list = redis.call("GET", KEYS[i]) or ""
  reply[i + 1] = #list > tonumber(ARGV[1]) and "" or list
end
return reply
