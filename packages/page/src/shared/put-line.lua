--[[
Puts a line into a list of lines, in place of the one with its name. Lines that have expired are dropped, and the oldest
ones if there are too many.

KEYS  the list
ARGV  the name of the line, without spaces; how long it is kept, in milliseconds; the most lines; the line, without line
      feeds
]]
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local name, kept_ms, max = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lines = { string.format("%.0f %s %s", now_ms + kept_ms, name, ARGV[4]) }
for line in string.gmatch(redis.call("GET", KEYS[1]) or "", "[^\n]+") do
  local ends, other = string.match(line, "^(%d+) (%S+) ")
  if #lines < max and ends and tonumber(ends) > now_ms and other ~= name then
    lines[#lines + 1] = line
  end
end
redis.call("SET", KEYS[1], table.concat(lines, "\n"), "PX", ARGV[2])
return 1
