// Written by scripts/build-lua.mjs from registry-load.lua and registry-put.lua. Do not edit: edit those.
export const registryLoad: { readonly source: string; readonly sha1: string } = {
  sha1: 'b257674639fcf938bb02a197c5837fa97f59463c',
  source: `local revision = redis.call("HGET", KEYS[1], "#revision") or ""
if revision ~= "" and revision == ARGV[1] then
return revision
end
local reply = redis.call("HGETALL", KEYS[1])
table.insert(reply, 1, revision)
return reply`,
};

export const registryPut: { readonly source: string; readonly sha1: string } = {
  sha1: '93c978013e4a2a7aa9677c682dac942b7e1797e3',
  source: `local before = redis.call("HGET", KEYS[1], ARGV[1]) or ""
if before ~= ARGV[2] then
return 0
end
local time = redis.call("TIME")
redis.call("HSET", KEYS[1], ARGV[1], ARGV[3], "#revision", string.format("%d%06d", time[1], time[2]))
redis.pcall("PUBLISH", KEYS[1], ARGV[1])
return 1`,
};
