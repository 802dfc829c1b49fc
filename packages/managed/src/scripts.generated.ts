// Written by scripts/build/build-lua.mjs from registry-load.lua and registry-put.lua. Do not edit: edit those.
/**
 * In this order:
 * - registry-load.lua
 */
export const registryLoad: { readonly source: string; readonly sha1: string } = {
  sha1: 'de9273bc2f6c52a0496e919c128ffe500bca220b',
  source: `local revision = redis.call("HGET", KEYS[1], "#revision") or ""
if revision ~= "" and revision == ARGV[1] then
  return revision
end
local reply = redis.call("HGETALL", KEYS[1])
table.insert(reply, 1, revision)
return reply`,
};

/**
 * In this order:
 * - registry-put.lua
 */
export const registryPut: { readonly source: string; readonly sha1: string } = {
  sha1: 'a1f484741ac68fe6ea4da629e34fd1d84e8bc257',
  source: `local before = redis.call("HGET", KEYS[1], ARGV[1]) or ""
if before ~= ARGV[2] then
  return 0
end
local time = redis.call("TIME")
redis.call("HSET", KEYS[1], ARGV[1], ARGV[3], "#revision", string.format("%d%06d", time[1], time[2]))
redis.pcall("PUBLISH", KEYS[1], ARGV[1])
return 1`,
};
