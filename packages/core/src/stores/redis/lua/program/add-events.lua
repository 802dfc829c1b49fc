-- Adds events, each of two arguments, to the lines of the timeline, as events/put-lines.lua writes them: the newest first, at
-- most a thousand and a megabyte. What makes this fail is no reason to fail the change: the process writes them later.
local function add_events(key, now, first, last)
  local lines, week_ms = redis.pcall("GET", key) or "", 604800000
  if type(lines) == "string" then
    local added, cut = {}, 0
    for i = last - 1, first, -2 do
      added[#added + 1] = string.format('%.0f %s {"atMs":%.0f,%s\n', now + week_ms, ARGV[i], now, ARGV[i + 1])
    end
    lines = table.concat(added) .. lines
    for _ = 1, 1000 do
      cut = cut and string.find(lines, "\n", cut + 1, true)
    end
    redis.pcall("SET", key, string.sub(lines, 1, math.min(cut or #lines, 1048576)), "PX", week_ms)
  end
end
