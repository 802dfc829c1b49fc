--[[
Reads texts.

KEYS  their keys
reply each text, or ""; then the present instant, in milliseconds
]]
local time = redis.call("TIME")
local texts = {}
for i = 1, #KEYS do
  texts[i] = redis.call("GET", KEYS[i]) or ""
end
texts[#KEYS + 1] = time[1] * 1000 + math.floor(time[2] / 1000)
return texts
