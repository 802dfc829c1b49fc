// Written by scripts/build/build-lua.mjs from heartbeat.lua. Do not edit: edit those.
/**
 * In this order:
 * - heartbeat.lua
 */
export const heartbeat: { readonly source: string; readonly sha1: string } = {
  sha1: '77e60b1b897a724a079ca1a7314ba3e3002fadec',
  source: `local time = redis.call("TIME")
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local id, weight, ttl, mark = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local clock = redis.call("HGET", KEYS[1], "#clock") or "0 0 0"
local latest_instant, longest_ttl, swept_at = string.match(clock, "^(%d+) (%d+) (%d+)$")
now, ttl = math.max(now, tonumber(latest_instant)), math.max(ttl, tonumber(longest_ttl))
swept_at = tonumber(swept_at)
local function each_member(act)
  local fields = redis.call("HGETALL", KEYS[1])
  for i = 1, #fields, 2 do
    local share, at = string.match(fields[i + 1], "^(%d+) (%d+)$")
    if string.byte(fields[i]) ~= 35 then
      act(fields[i], share, tonumber(at))
    end
  end
end
local changes = ""
if 10 * (now - swept_at) >= ttl then
  swept_at = now
  each_member(function(other, _, at)
    if other ~= id and at + ttl <= now then
      redis.call("HDEL", KEYS[1], other)
      changes = changes .. " " .. other .. "=0"
    end
  end)
end
local own = redis.call("HGET", KEYS[1], id)
if weight > 0 then
  if not own or tonumber(string.match(own, "^%d+")) ~= weight then
    changes = string.format("%s %s=%d", changes, id, weight)
  end
  redis.call("HSET", KEYS[1], id, string.format("%d %d", weight, now))
elseif own then
  redis.call("HDEL", KEYS[1], id)
  changes = changes .. " " .. id .. "=0"
end
local kept = 10 * ttl
local MAX_BYTES = 65536
local epochs = redis.call("HGET", KEYS[1], "#epochs") or ""
local latest = string.match(epochs, "^.*;(.*)$") or epochs
if changes ~= "" then
  local number = tonumber(string.match(latest, "^%d+") or "0") + 1
  latest = string.format("%d %d %s%s", number, now, id, changes)
  epochs = epochs == "" and latest or epochs .. ";" .. latest
  local ending = string.find(epochs, ";", 1, true)
  while ending and (#epochs > MAX_BYTES or tonumber(string.match(epochs, "^%d+ (%d+)", ending + 1)) + kept <= now) do
    epochs = string.sub(epochs, ending + 1)
    ending = string.find(epochs, ";", 1, true)
  end
  redis.call("HSET", KEYS[1], "#epochs", epochs)
end
redis.call("HSET", KEYS[1], "#clock", string.format("%d %d %d", now, ttl, swept_at))
redis.call("PEXPIRE", KEYS[1], string.format("%d", kept))
local at = mark ~= "" and string.find(";" .. epochs, ";" .. mark .. " ", 1, true)
if at then
  local ending = string.find(epochs, ";", at, true)
  return { now, ttl, 1, ending and string.sub(epochs, ending + 1) or "" }
end
local members = string.match(latest, "^%d+ %d+ [^ ]+") or ""
each_member(function(name, share)
  members = members .. " " .. name .. "=" .. share
end)
return { now, ttl, 0, members }`,
};
