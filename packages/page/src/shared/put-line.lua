--[[
Puts a line into a list of lines, in place of the one with its name, and a text beside the list. Lines that have ended
leave, and the oldest ones where there are too many.

KEYS  the list; where there is a text, the key of it
ARGV  the name of the line, without spaces; for how long it and the text are kept, in milliseconds; the most lines; the
      line, without line feeds; the text
]]
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local name, kept_ms, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lines = { string.format("%d %s %s", now_ms + kept_ms, name, ARGV[4]) }
for line in string.gmatch(redis.call("GET", KEYS[1]) or "", "[^\n]+") do
  local ends, other = string.match(line, "^(%d+) (%S+) ")
  if #lines < most and ends and tonumber(ends) > now_ms and other ~= name then
    lines[#lines + 1] = line
  end
end
redis.call("SET", KEYS[1], table.concat(lines, "\n"), "PX", ARGV[2])
if KEYS[2] then
  redis.call("SET", KEYS[2], ARGV[5], "PX", ARGV[2])
end
return 1
