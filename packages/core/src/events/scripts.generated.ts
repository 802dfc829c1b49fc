// Made by scripts/build/print-program.mjs from get-lines.lua and put-lines.lua.
export const getLines: { readonly source: string; readonly sha1: string } = {
  sha1: '172080580a22bfa315cda6cba8e695fcdf71b8ef',
  source: String.raw`local time, list = redis.call("TIME"), redis.call("GET", KEYS[1]) or ""
local now = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
return { now, #list > tonumber(ARGV[1]) and "" or list }`,
};

export const putLines: { readonly source: string; readonly sha1: string } = {
  sha1: '78f96907b78af3be0a69156eaaf2c1cd5b077f4b',
  source: String.raw`local max_lines, max_bytes, kept_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local kept, named, bytes = {}, {}, 0
local function keep(ends_ms, name, line)
  bytes = bytes + #line + 1
  if ends_ms > now_ms and not named[name] and #kept < max_lines and bytes <= max_bytes then
    named[name] = true
    kept[#kept + 1] = line
  end
end
for i = 4, #ARGV, 3 do
  local since_ms = tonumber(ARGV[i + 1])
  local ends_ms = (since_ms > 0 and since_ms or now_ms) + kept_ms
  keep(ends_ms, ARGV[i], string.format("%.0f %s %s", ends_ms, ARGV[i], ARGV[i + 2]))
end
local list = redis.call("GET", KEYS[1]) or ""
for line in string.gmatch(#list > max_bytes and "" or list, "[^\n]+") do
  local ends_ms, name = string.match(line, "^(%d+) (%S+) ")
  if ends_ms then
    keep(tonumber(ends_ms), name, line)
  end
end
redis.call("SET", KEYS[1], table.concat(kept, "\n"), "PX", ARGV[3])
return 1`,
};
