--[[
Puts lines into a list, in place of those with the same name. Lines that have ended are dropped, and those that end
first if there are too many.

KEYS  the list
ARGV  the most lines; the most bytes; how long a line is kept, in milliseconds; then for each line its name, without
      spaces, since when it is kept, in milliseconds since 1970 (0: now), and its text, without line feeds
]]
local max_lines, max_bytes, kept_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local fresh, named = {}, {}
for i = 4, #ARGV, 3 do
  local since_ms = tonumber(ARGV[i + 1])
  local ends_ms = (since_ms > 0 and since_ms or now_ms) + kept_ms
  if ends_ms > now_ms and not named[ARGV[i]] then
    named[ARGV[i]] = true
    local text = string.format("%.0f %s %s", ends_ms, ARGV[i], ARGV[i + 2])
    fresh[#fresh + 1] = { ends = ends_ms, place = i, text = text }
  end
end
table.sort(fresh, function(one, other)
  return one.ends > other.ends or one.ends == other.ends and one.place < other.place
end)
local kept, bytes, at = {}, 0, 1
local function keep(text)
  bytes = bytes + #text + 1
  if #kept < max_lines and bytes <= max_bytes then
    kept[#kept + 1] = text
  end
end
-- The list is in this order, too: to sort it again would keep Redis busy for milliseconds, as patterns for lines do.
local list = redis.call("GET", KEYS[1]) or ""
list = #list > max_bytes and "" or list
local start = 1
while start <= #list do
  local stop = string.find(list, "\n", start, true) or #list + 1
  local line = string.sub(list, start, stop - 1)
  local ends, name = string.match(line, "^(%d+) (%S+) ")
  local ends_ms = tonumber(ends)
  if ends_ms and ends_ms > now_ms and not named[name] then
    named[name] = true
    while fresh[at] and fresh[at].ends >= ends_ms do
      keep(fresh[at].text)
      at = at + 1
    end
    keep(line)
  end
  start = stop + 1
end
for i = at, #fresh do
  keep(fresh[i].text)
end
redis.call("SET", KEYS[1], table.concat(kept, "\n"), "PX", ARGV[3])
return 1
