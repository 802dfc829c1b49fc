-- Adds an event to the lines of the timeline, as events/put-lines.lua writes them: the newest first, at most a thousand and
-- a megabyte. What makes this fail is no reason to fail the change: the process writes the event later.
local function add_event(key, now, name, text)
  local lines, last, week_ms = redis.pcall("GET", key) or "", 0, 604800000
  if type(lines) == "string" then
    lines = string.format('%.0f %s {"atMs":%.0f,%s\n', now + week_ms, name, now, text) .. lines
    for _ = 1, 1000 do
      last = last and string.find(lines, "\n", last + 1, true)
    end
    redis.pcall("SET", key, string.sub(lines, 1, math.min(last or #lines, 1048576)), "PX", week_ms)
  end
end
