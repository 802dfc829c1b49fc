// Made by scripts/build/print-program.mjs from get-lines.lua and put-lines.lua.
export const getLines: { readonly source: string; readonly sha1: string } = {
  sha1: '172080580a22bfa315cda6cba8e695fcdf71b8ef',
  source: String.raw`local time, list = redis.call("TIME"), redis.call("GET", KEYS[1]) or ""
local now = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
return { now, #list > tonumber(ARGV[1]) and "" or list }`,
};

export const putLines: { readonly source: string; readonly sha1: string } = {
  sha1: '77c0688e034d6ab5c0520845ead84b1832055b51',
  source: String.raw`local max_lines, max_bytes, kept_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local lines, named = {}, {}
local function add(ends_ms, name, text)
  if ends_ms > now_ms and not named[name] then
    named[name] = true
    lines[#lines + 1] = { ends = ends_ms, place = #lines, text = string.format("%.0f %s %s", ends_ms, name, text) }
  end
end
for i = 4, #ARGV, 3 do
  local since_ms = tonumber(ARGV[i + 1])
  add((since_ms > 0 and since_ms or now_ms) + kept_ms, ARGV[i], ARGV[i + 2])
end
local list = redis.call("GET", KEYS[1]) or ""
for line in string.gmatch(#list > max_bytes and "" or list, "[^\n]+") do
  local ends, name, text = string.match(line, "^(%d+) (%S+) (.*)$")
  if ends then
    add(tonumber(ends), name, text)
  end
end
table.sort(lines, function(one, other)
  return one.ends > other.ends or one.ends == other.ends and one.place < other.place
end)
local kept, bytes = {}, 0
for i = 1, math.min(#lines, max_lines) do
  bytes = bytes + #lines[i].text + 1
  if bytes > max_bytes then
    break
  end
  kept[i] = lines[i].text
end
redis.call("SET", KEYS[1], table.concat(kept, "\n"), "PX", ARGV[3])
return 1`,
};
