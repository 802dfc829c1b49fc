// Written by scripts/build/build-lua.mjs from edit-key.lua. Do not edit: edit those.
/**
 * In this order:
 * - edit-key.lua
 */
export const editKey: { readonly source: string; readonly sha1: string } = {
  sha1: '0fa32fa159e4864bb5932737074b8fbf880acf4e',
  source: `local KEPT_MS = 60000
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local op, value = ARGV[1], redis.call("GET", KEYS[1])
local blocked, rest = string.match(value or "", "^!(%d+)!(.*)$")
local denials, states = string.match(rest or value or "", "^%^([%d:]+)%^(.*)$")
states = states or rest or value or ""
local before_ms = tonumber(blocked or 0)
local until_ms = before_ms
if op == "unblock" and before_ms <= now_ms then
  return { value and 1 or 0, 0, 0, now_ms }
end
if op == "block" then
  until_ms = now_ms + tonumber(ARGV[2])
elseif op == "unblock" then
  until_ms, denials = 0, nil
else
  local blocks, forgotten = string.match(denials or "", "^%d+:(%d+):(%d+)$")
  denials = tonumber(blocks or 0) > 0 and string.format("0:%s:%s", blocks, forgotten) or nil
  states = ""
  for i = 2, #KEYS do
    redis.call("DEL", KEYS[i])
  end
end
local after = states
if denials then
  after = string.format("^%s^%s", denials, after)
end
if until_ms > now_ms then
  after = string.format("!%d!%s", until_ms, after)
end
if after == "" then
  redis.call("DEL", KEYS[1])
elseif op == "block" then
  local expire_at_ms = math.max(until_ms + KEPT_MS, now_ms + redis.call("PTTL", KEYS[1]))
  redis.call("SET", KEYS[1], after, "PXAT", string.format("%d", expire_at_ms))
  for i = 2, #KEYS do
    redis.call("PEXPIREAT", KEYS[i], string.format("%d", expire_at_ms))
  end
else
  redis.call("SET", KEYS[1], after, "KEEPTTL")
end
return { value and 1 or 0, before_ms > now_ms and before_ms or 0, until_ms > now_ms and until_ms or 0, now_ms }`,
};
