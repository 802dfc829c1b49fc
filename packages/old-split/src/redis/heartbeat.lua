--[[
One heartbeat of an instance: keeps the instance a member, removes members whose time to live has passed, and returns the
changes since the last heartbeat of the instance. Twin of the model in the tests.

KEYS  the hash of a group: `#clock` (the latest instant returned, the longest time to live, the time of the last sweep),
      `#epochs`, and per member its weight and the time of its last heartbeat
ARGV  the instance's id; its weight, 0 when it leaves; its time to live in ms; the mark of the latest epoch it knows, or ""
epoch <number> <from ms> <id of the instance that began it>, which are its mark, then the changes: +<id>=<weight>, -<id>;
      several are joined by ;
reply the instant in ms; the longest time to live; 1 when the mark is known, and the epochs since; else 0, and one epoch
      with all members
]]
local time = redis.call("TIME")
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local id, weight, ttl_ms, mark = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

local clock = redis.call("HGET", KEYS[1], "#clock") or "0 0 0"
local latest_ms, longest_ms, swept_at_ms = string.match(clock, "^(%d+) (%d+) (%d+)$")
-- The time never goes back, even if the clock was set back or another server took over.
now_ms, ttl_ms = math.max(now_ms, tonumber(latest_ms)), math.max(ttl_ms, tonumber(longest_ms))
swept_at_ms = tonumber(swept_at_ms)

local function each_member(act)
  local fields = redis.call("HGETALL", KEYS[1])
  for i = 1, #fields, 2 do
    local share, at_ms = string.match(fields[i + 1], "^(%d+) (%d+)$")
    if string.byte(fields[i]) ~= 35 then -- #
      act(fields[i], tonumber(share), tonumber(at_ms))
    end
  end
end

local changes = ""
-- Not at every heartbeat: with many members every heartbeat would read all of them.
if 10 * (now_ms - swept_at_ms) >= ttl_ms then
  swept_at_ms = now_ms
  each_member(function(other, _, at_ms)
    if other ~= id and at_ms + ttl_ms <= now_ms then
      redis.call("HDEL", KEYS[1], other)
      changes = changes .. " -" .. other
    end
  end)
end
local own = redis.call("HGET", KEYS[1], id)
if weight > 0 then
  if not own or tonumber(string.match(own, "^%d+")) ~= weight then
    changes = string.format("%s +%s=%d", changes, id, weight)
  end
  redis.call("HSET", KEYS[1], id, string.format("%d %d", weight, now_ms))
elseif own then
  redis.call("HDEL", KEYS[1], id)
  changes = changes .. " -" .. id
end

-- Longer than any instance acts by an old reply. An instance that comes back later gets all members again.
local kept_ms = 10 * ttl_ms
local MOST_BYTES = 65536
local epochs = redis.call("HGET", KEYS[1], "#epochs") or ""
local latest = string.match(epochs, "^.*;(.*)$") or epochs
if changes ~= "" then
  local number = tonumber(string.match(latest, "^%d+") or "0") + 1
  latest = string.format("%d %d %s%s", number, now_ms, id, changes)
  epochs = epochs == "" and latest or epochs .. ";" .. latest
  -- An epoch is dropped when the one after it is old enough.
  local ending = string.find(epochs, ";", 1, true)
  while ending and (#epochs > MOST_BYTES or tonumber(string.match(epochs, "^%d+ (%d+)", ending + 1)) + kept_ms <= now_ms) do
    epochs = string.sub(epochs, ending + 1)
    ending = string.find(epochs, ";", 1, true)
  end
  redis.call("HSET", KEYS[1], "#epochs", epochs)
end
redis.call("HSET", KEYS[1], "#clock", string.format("%d %d %d", now_ms, ttl_ms, swept_at_ms))
redis.call("PEXPIRE", KEYS[1], string.format("%d", kept_ms))

local at = mark ~= "" and string.find(";" .. epochs, ";" .. mark .. " ", 1, true)
if at then
  local ending = string.find(epochs, ";", at, true)
  return { now_ms, ttl_ms, 1, ending and string.sub(epochs, ending + 1) or "" }
end
local members = string.match(latest, "^%d+ %d+ [^ ]+") or ""
each_member(function(name, share)
  members = string.format("%s +%s=%d", members, name, share)
end)
return { now_ms, ttl_ms, 0, members }
