// Written by scripts/build/build-lua.mjs from overrides-changes.lua and overrides-put.lua and overrides-read.lua and registry-load.lua and registry-put.lua. Do not edit: edit those.
/**
 * In this order:
 * - overrides-changes.lua
 */
export const overridesChanges: { readonly source: string; readonly sha1: string } = {
  sha1: '8be1f9b628e12c6dd89d03f0599e77c144f6c5f4',
  source: `local known, most = ARGV[1], tonumber(ARGV[2])
local newest = redis.call("ZREVRANGE", KEYS[2], 0, 0, "WITHSCORES")[2]
local from_start = known == "" or tonumber(known) > tonumber(newest or 0)
local after = from_start and "-inf" or "(" .. known
local found = redis.call("ZRANGEBYSCORE", KEYS[2], after, "+inf", "WITHSCORES", "LIMIT", 0, most)
local time = redis.call("TIME")
local now = string.format("%d%03d", time[1], math.floor(time[2] / 1000))
local reply = { now, from_start and 1 or 0, #found == most * 2 and 1 or 0, from_start and "0" or known }
local names = {}
for i = 1, #found, 2 do
  names[#names + 1] = found[i]
  reply[4] = found[i + 1]
end
if #names > 0 then
  local records = redis.call("HMGET", KEYS[1], unpack(names))
  for i = 1, #names do
    if records[i] then
      reply[#reply + 1], reply[#reply + 2] = names[i], records[i]
    end
  end
end
return reply`,
};

/**
 * In this order:
 * - overrides-put.lua
 */
export const overridesPut: { readonly source: string; readonly sha1: string } = {
  sha1: 'a4f6cc24fa7a3b45028883987cb4f369e9332226',
  source: `local before = redis.call("HGET", KEYS[1], ARGV[1]) or ""
if before ~= ARGV[2] then
  return 0
end
local time = redis.call("TIME")
local newest = redis.call("ZREVRANGE", KEYS[2], 0, 0, "WITHSCORES")[2]
local revision = math.max(time[1] * 1000000 + time[2], tonumber(newest or 0) + 1)
redis.call("HSET", KEYS[1], ARGV[1], ARGV[3])
redis.call("ZADD", KEYS[2], string.format("%.0f", revision), ARGV[1])
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
