// Made by scripts/build/print-program.mjs from get-lists.lua and put-line.lua.
export const getLists: { readonly source: string; readonly sha1: string } = {
  sha1: '69cd8a9898d79e6df5eadad14f845c7feea161f4',
  source: String.raw`local time, reply = redis.call("TIME"), {}
reply[1] = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
for i = 1, #KEYS do
  local list = redis.call("GET", KEYS[i]) or ""
  reply[i + 1] = #list > tonumber(ARGV[1]) and "" or list
end
return reply`,
};

export const putLine: { readonly source: string; readonly sha1: string } = {
  sha1: '7a6bfa068408c55eeab5d8e2ed9597b72a4c69eb',
  source: String.raw`local time = redis.call("TIME")
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
return 1`,
};
