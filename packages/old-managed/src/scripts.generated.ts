// Written by scripts/build/build-lua.mjs from overrides-changes.lua and overrides-put.lua and overrides-read.lua and registry-load.lua and registry-put.lua. Do not edit: edit those.
/**
 * In this order:
 * - overrides-changes.lua
 */
export const overridesChanges: { readonly source: string; readonly sha1: string } = {
  sha1: '31c574e1b61b76d67446f894115d4de6aec82bd0',
  source: `local known, most = ARGV[1], tonumber(ARGV[2])
local newest = redis.call("ZREVRANGEBYSCORE", KEYS[2], "+inf", "-inf", "WITHSCORES", "LIMIT", 0, 1)[2]
local from_start = known == "" or tonumber(known) > tonumber(newest or 0)
local after = from_start and "-inf" or "(" .. known
local found = redis.call("ZRANGEBYSCORE", KEYS[2], after, "+inf", "WITHSCORES", "LIMIT", 0, most)
local time = redis.call("TIME")
local now = string.format("%d%03d", time[1], math.floor(time[2] / 1000))
local reply = { now, from_start and 1 or 0, #found == most * 2 and 1 or 0, from_start and "0" or known }
for i = 1, #found, 2 do
  local record = redis.call("HGET", KEYS[1], found[i])
  if record then
    reply[#reply + 1], reply[#reply + 2] = found[i], record
  end
  reply[4] = found[i + 1]
end
return reply`,
};

/**
 * In this order:
 * - overrides-put.lua
 */
export const overridesPut: { readonly source: string; readonly sha1: string } = {
  sha1: 'd4b60fa5c16221dc2d7a837ce78c8afd0dbfe2e2',
  source: `local before = redis.call("HGET", KEYS[1], ARGV[1]) or ""
if before ~= ARGV[2] then
  return 0
end
local time = redis.call("TIME")
local newest = redis.call("ZREVRANGEBYSCORE", KEYS[2], "+inf", "-inf", "WITHSCORES", "LIMIT", 0, 1)[2]
local revision = math.max(time[1] * 1000000 + time[2], tonumber(newest or 0) + 1)
redis.call("HSET", KEYS[1], ARGV[1], ARGV[3])
redis.call("ZADD", KEYS[2], string.format("%d", revision), ARGV[1])
redis.pcall("PUBLISH", ARGV[4], ARGV[1])
return 1`,
};

/**
 * In this order:
 * - overrides-read.lua
 */
export const overridesRead: { readonly source: string; readonly sha1: string } = {
  sha1: 'cee6c7325a40fdf07c149d82a049f14dde0ba3fd',
  source: `return redis.call("HGET", KEYS[1], ARGV[1])`,
};

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
