--[[
Writes records that begin with the instant of their put, as {"atMs":1700000000000,...}, and publishes the change. A put
writes its event in the timeline as well: a process that ends just after it loses neither.

KEYS  the hash of records by name; the sorted set of their names by the revision of their last change; the list of the
      last revisions, newest first; the lines of the timeline
ARGV  the channel; how; of a put, the name of its event and the text, which begins after the instant, else "" and ""; then
      for each record its name, an instant and its text
      put      if the record there is of this instant (0: there is none), and with the server's instant: the text has none
      restore  if there is no record, or one of an earlier instant, or one whose revision was lost
      forget   deletes the record that is of this instant
reply the instant of the last record that was written; 0 if none was
]]
local channel, how = ARGV[1], ARGV[2]
local MAX_INSTANT, MAX_REVISIONS = 8.64e15, 1000
local time = redis.call("TIME")
-- An instant, so that no revision equals one that was lost; one more than the newest if the clock is behind it.
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
  redis.pcall("PUBLISH", channel, "") -- without the right to publish it is written all the same, and polling finds it
end
return written
