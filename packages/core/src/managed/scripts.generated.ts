// Made by scripts/build/print-program.mjs from read.lua and write.lua.
export const read: { readonly source: string; readonly sha1: string } = {
  sha1: '940c5ca476d00f6b6b037dd384cd1aa3e8b5440f',
  source: String.raw`local known, max = ARGV[1], tonumber(ARGV[2])
local has_lost = redis.call("EXISTS", KEYS[1], KEYS[2]) < 2 or not redis.call("LPOS", KEYS[3], known)
local from_start = known == "" or ARGV[3] == "" and has_lost
local after = from_start and "-inf" or "(" .. known
local found = redis.call("ZRANGEBYSCORE", KEYS[2], after, "+inf", "WITHSCORES", "LIMIT", 0, max)
local time = redis.call("TIME")
local now = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
local reply = { now, from_start and "1" or "0", #found == max * 2 and "1" or "0", from_start and "" or known }
local names = {}
for i = 1, #found, 2 do
  names[#names + 1], reply[4] = found[i], found[i + 1]
end
local records = #names > 0 and redis.call("HMGET", KEYS[1], unpack(names)) or {}
for i = 1, #names do
  if records[i] then
    reply[#reply + 1], reply[#reply + 2] = names[i], records[i]
  end
end
if #names < max then
  reply[4] = redis.call("LINDEX", KEYS[3], 0) or reply[4]
end
return reply`,
};

export const write: { readonly source: string; readonly sha1: string } = {
  sha1: 'af1012562e34eba67e3188b13bf55a69807cdc29',
  source: String.raw`local function add_events(key, now, first, last)
  local lines, week_ms = redis.pcall("GET", key) or "", 604800000
  if type(lines) == "string" then
    local added, cut = {}, 0
    for i = last - 1, first, -2 do
      added[#added + 1] = string.format('%.0f %s {"atMs":%.0f,%s\n', now + week_ms, ARGV[i], now, ARGV[i + 1])
    end
    lines = table.concat(added) .. lines
    for _ = 1, 1000 do
      cut = cut and string.find(lines, "\n", cut + 1, true)
    end
    redis.pcall("SET", key, string.sub(lines, 1, math.min(cut or #lines, 1048576)), "PX", week_ms)
  end
end
local channel, how = ARGV[1], ARGV[2]
local MAX_INSTANT, MAX_REVISIONS = 8.64e15, 1000
local time = redis.call("TIME")
local revision = math.max(time[1] * 1000000 + time[2], (tonumber(redis.call("LINDEX", KEYS[3], 0)) or 0) + 1)
local written = 0
for i = 5, #ARGV, 3 do
  local name, at, text = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
  local stored = tonumber(string.match(redis.call("HGET", KEYS[1], name) or "", '^{"atMs":(%d+),')) or 0
  if stored > MAX_INSTANT then
    stored = 0
  end
  if how == "forget" and stored == at then
    redis.call("HDEL", KEYS[1], name)
    redis.call("ZREM", KEYS[2], name)
  elseif
    how == "put" and stored == at
    or how == "restore" and (stored < at or stored == at and redis.call("ZADD", KEYS[2], "NX", "0", name) == 1)
  then
    if how == "put" then
      at = math.max(time[1] * 1000 + math.floor(time[2] / 1000), at + 1)
      text = string.format('{"atMs":%.0f,%s', at, text)
      add_events(KEYS[4], at, 3, 4)
    end
    if written > 0 then
      revision = revision + 1
    end
    written = at
    redis.call("HSET", KEYS[1], name, text)
    redis.call("ZADD", KEYS[2], string.format("%.0f", revision), name)
  end
end
if written > 0 then
  redis.call("LPUSH", KEYS[3], string.format("%.0f", revision))
  redis.call("LTRIM", KEYS[3], 0, MAX_REVISIONS - 1)
  redis.pcall("PUBLISH", channel, "")
end
return written`,
};
