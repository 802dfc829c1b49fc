// Made by scripts/build/print-program.mjs from heartbeat.lua.
export const heartbeat: { readonly source: string; readonly sha1: string } = {
  sha1: 'dc3cba26d9b69f950f2e6f0b9446dfa532b44548',
  source: String.raw`local time = redis.call("TIME")
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local id, weight, ttl, known = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local clock = redis.call("HGET", KEYS[1], "#clock") or "0 0 0"
local latest_instant, longest_ttl, swept_at = string.match(clock, "^(%d+) (%d+) (%d+)$")
now, ttl = math.max(now, tonumber(latest_instant)), math.max(ttl, tonumber(longest_ttl))
swept_at = tonumber(swept_at)
local function each_member(act)
  local fields = redis.call("HGETALL", KEYS[1])
  for i = 1, #fields, 2 do
    local share, at = string.match(fields[i + 1], "^(%d+) (%d+) %d+$")
    if string.byte(fields[i]) ~= 35 then
      act(fields[i], share, tonumber(at))
    end
  end
end
local is_changed = false
if 10 * (now - swept_at) >= ttl then
  swept_at = now
  each_member(function(other, _, at)
    if other ~= id and at + ttl <= now then
      redis.call("HDEL", KEYS[1], other)
      is_changed = true
    end
  end)
end
local own = redis.call("HGET", KEYS[1], id)
local own_weight, joined = string.match(own or "", "^(%d+) %d+ (%d+)$")
joined = tonumber(joined) or now
if weight > 0 then
  is_changed = is_changed or tonumber(own_weight) ~= weight
  redis.call("HSET", KEYS[1], id, string.format("%d %d %d", weight, now, joined))
elseif own then
  redis.call("HDEL", KEYS[1], id)
  is_changed = true
end
local change = redis.call("HGET", KEYS[1], "#change") or "0"
if is_changed then
  change = string.format("%d %d %s", tonumber(string.match(change, "^%d+")) + 1, now, id)
  redis.call("HSET", KEYS[1], "#change", change)
end
redis.call("HSET", KEYS[1], "#clock", string.format("%d %d %d", now, ttl, swept_at))
redis.call("PEXPIRE", KEYS[1], string.format("%d", 10 * ttl))
local members = {}
if change ~= known then
  each_member(function(name, share)
    members[#members + 1] = name .. "=" .. share
  end)
end
return { now, ttl, joined, change, table.concat(members, " ") }`,
};
