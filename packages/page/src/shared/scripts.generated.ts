// Written by scripts/build/build-lua.mjs from get-texts.lua and put-line.lua. Do not edit: edit those.
/**
 * In this order:
 * - get-texts.lua
 */
export const getTexts: { readonly source: string; readonly sha1: string } = {
  sha1: 'b57815dae6db62552a1d2d32a1ed86d6346bfcee',
  source: `local time = redis.call("TIME")
local texts = {}
for i = 1, #KEYS do
  texts[i] = redis.call("GET", KEYS[i]) or ""
end
texts[#KEYS + 1] = time[1] * 1000 + math.floor(time[2] / 1000)
return texts`,
};

/**
 * In this order:
 * - put-line.lua
 */
export const putLine: { readonly source: string; readonly sha1: string } = {
  sha1: 'a912e2cf983517b2a5fbc64e968443bf60097d96',
  source: `local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local name, kept_ms, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lines = { string.format("%d %s %s", now_ms + kept_ms, name, ARGV[4]) }
for line in string.gmatch(redis.call("GET", KEYS[1]) or "", "[^\\n]+") do
  local ends, other = string.match(line, "^(%d+) (%S+) ")
  if #lines < most and ends and tonumber(ends) > now_ms and other ~= name then
    lines[#lines + 1] = line
  end
end
redis.call("SET", KEYS[1], table.concat(lines, "\\n"), "PX", ARGV[2])
if KEYS[2] then
  redis.call("SET", KEYS[2], ARGV[5], "PX", ARGV[2])
end
return 1`,
};
