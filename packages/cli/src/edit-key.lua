--[[
Blocks, unblocks or resets one key without the numbers of its policies: what stands before the states is written in one
way for all of them. For the value, and what each edit changes, see edits.lua and general.lua of core. A key that is not blocked is not unblocked.

KEYS  the key; the keys of its external states
ARGV  block, unblock or reset; for a block its length in milliseconds
reply { 1 if the key was there, else 0; the instant at which its block ended before, in ms; the same after the edit; the
      present instant }, with 0 where there is no block
]]
local KEPT_MS = 60000 -- so that a clock that steps back still finds the block
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
  -- The states keep their expiry where it is later.
  local expire_at_ms = math.max(until_ms + KEPT_MS, now_ms + redis.call("PTTL", KEYS[1]))
  redis.call("SET", KEYS[1], after, "PXAT", string.format("%d", expire_at_ms))
  for i = 2, #KEYS do
    redis.call("PEXPIREAT", KEYS[i], string.format("%d", expire_at_ms))
  end
else
  redis.call("SET", KEYS[1], after, "KEEPTTL")
end
return { value and 1 or 0, before_ms > now_ms and before_ms or 0, until_ms > now_ms and until_ms or 0, now_ms }
