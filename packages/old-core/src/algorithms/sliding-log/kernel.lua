--[[
sliding log: twin of kernel.ts and log.ts. Change those, this file and vectors.json in one commit.

policy  { limit, window_ms }
state   a summary in the value: the newest instant at which units were consumed, and how many units are not gone, as
        encode_pair writes them; in a list of its own a packed integer per instant, oldest first: the instant, and the
        count of all units consumed up to it, its last six digits
text    the summary; during a call newest_ms:units:added:removed, where `added` of them are not in the list yet, and the
        last `removed` units of the list do not count any more
decide  the text after `cost` units and the instant at which it ends, or false
select  marks the instants that the reply needs so that the client can decide `cost` units
refund  without the charged window, of the newest units instead of the oldest
refund, charge, used, migrate, reset_at_ms   as in the other kernels
open    opens the list, which is read only as far as needed
load    gives the list its summary
project returns the summary with the selected instants, in the layout of log.ts
save    writes the list and returns its summary
]]
local sliding_log = { kind = "l", arity = 2, external = true }

local SIX_DIGITS = 1000000
local LARGEST_LOG = 999999

local function read_log(text)
  local newest_ms, units, added, removed = string.match(text, "^(%d+):(%d+):(%d+):(%d+)$")
  if added then
    return tonumber(newest_ms), tonumber(units), tonumber(added), tonumber(removed)
  end
  newest_ms, units = decode_pair(text)
  return newest_ms, units, 0, 0
end

local function write_log(policy, newest_ms, units, added, removed)
  return string.format("%d:%d:%d:%d", newest_ms, units, added, removed), newest_ms + policy[2]
end

-- Replaces a list that does not match the summary, because one of the two was evicted, by one entry: all units at the
-- newest instant, so that none comes back too early.
local function open_lost(log, newest_ms, units)
  log.count, log.is_lost, log.last = 1, true, units
  log[1] = { newest_ms, units }
end

function sliding_log.open(key)
  local log = { key = key, count = redis.call("LLEN", KEYS[key]), last = 0, selected = {} }
  if log.count > 0 then
    local last_ms, last = decode_pair(redis.call("LINDEX", KEYS[key], -1))
    log.last = last
    log[log.count] = { last_ms, last }
  end
  return log
end

function sliding_log.load(log, text)
  local newest_ms, units = decode_pair(text)
  log.text, log.units = text, units
  if log.count == 0 or log[log.count][1] ~= newest_ms then
    open_lost(log, newest_ms, units)
  end
end

-- Returns the instant of an entry, and how many units after it are in the list, as a negative number: 0 for the last
-- entry.
local function entry(log, i)
  local read = log[i]
  if not read then
    local at_ms, up_to = decode_pair(redis.call("LINDEX", KEYS[log.key], i - 1))
    read = { at_ms, up_to }
    log[i] = read
  end
  return read[1], -((log.last - read[2]) % SIX_DIGITS)
end

-- Returns the first entry for which `is` holds, as it does for all later ones; the count plus 1 if there is none.
-- Starts at the oldest entries because few expire at a time.
local function first_entry(log, is, value)
  local from, step = 1, 1
  while from + step - 1 <= log.count and not is(log, from + step - 1, value) do
    from, step = from + step, step * 2
  end
  local to = math.min(from + step - 1, log.count + 1)
  while from < to do
    local middle = math.floor((from + to) / 2)
    if is(log, middle, value) then
      to = middle
    else
      from = middle + 1
    end
  end
  return from
end

local function is_later(log, i, at_ms)
  return entry(log, i) > at_ms
end

local function is_up_to(log, i, count)
  local _, up_to = entry(log, i)
  return up_to >= count
end

-- Returns how many units are gone, counted as in entry, and the first entry that still counts.
local function gone_of(policy, log, units, added, removed, now_ms)
  local first = first_entry(log, is_later, now_ms - policy[2])
  local gone = added - removed - units
  if first > 1 then
    local _, up_to = entry(log, first - 1)
    gone = math.max(gone, up_to)
  end
  return gone, first
end

-- Returns how many units count, how many the list lacks and has too many, and the newest instant.
local function used_of(policy, text, now_ms, log)
  if not text then
    return 0, 0, 0, now_ms
  end
  local newest_ms, units, added, removed = read_log(text)
  local gone = gone_of(policy, log, units, added, removed, now_ms)
  return added - removed - gone, added, removed, newest_ms
end

local function with_units(policy, text, cost, now_ms, log)
  local used, added, removed, newest_ms = used_of(policy, text, now_ms, log)
  if used == 0 then
    return write_log(policy, now_ms, cost, added + cost, removed)
  end
  return write_log(policy, math.max(now_ms, newest_ms), used + cost, added + cost, removed)
end

function sliding_log.decide(policy, text, cost, now_ms, log)
  if cost > policy[1] or used_of(policy, text, now_ms, log) + cost > policy[1] then
    return false
  end
  return with_units(policy, text, cost, now_ms, log)
end

function sliding_log.select(policy, text, cost, now_ms, log)
  if not text then
    return
  end
  local limit = policy[1]
  local _, units, added, removed = read_log(text)
  local gone, first = gone_of(policy, log, units, added, removed, now_ms)
  local used = added - removed - gone
  log.selected[first - 1] = true
  log.selected[first_entry(log, is_up_to, gone + 1)] = true
  for _, asked in ipairs({ cost, 1 }) do
    if asked <= limit and used + asked > limit then
      log.selected[first_entry(log, is_up_to, gone + used + asked - limit)] = true
    end
  end
end

function sliding_log.refund(policy, text, cost, charged_until_ms, now_ms, log)
  local used, added, removed, newest_ms = used_of(policy, text, now_ms, log)
  if charged_until_ms and now_ms >= charged_until_ms or used == 0 then
    return false
  end
  if cost >= used then
    return "", 0
  elseif charged_until_ms then
    return write_log(policy, newest_ms, used - cost, added, removed)
  elseif cost < added then
    return write_log(policy, newest_ms, used - cost, added - cost, removed)
  end
  removed = removed + cost - added
  local last = first_entry(log, is_up_to, -removed)
  log.selected[last] = true
  newest_ms = entry(log, last)
  return write_log(policy, newest_ms, used - cost, 0, removed)
end

function sliding_log.charge(policy, text, cost, charged_until_ms, now_ms, log)
  local used = used_of(policy, text, now_ms, log)
  if charged_until_ms and (now_ms >= charged_until_ms or used == 0) then
    return false
  end
  cost = math.min(cost, LARGEST_LOG - used)
  if cost == 0 then
    return false
  end
  return with_units(policy, text, cost, now_ms, log)
end

function sliding_log.used(policy, text, now_ms, log)
  return (used_of(policy, text, now_ms, log))
end

function sliding_log.migrate(policy, units, now_ms, from, text, log)
  local newest_ms, used, added, removed = now_ms, 0, 0, 0
  if from then
    used, added, removed, newest_ms = used_of(from, text, now_ms, log)
  end
  units = math.min(units, LARGEST_LOG)
  local at_ms = math.max(now_ms, newest_ms)
  if not from or from[2] ~= policy[2] then
    return write_log(policy, at_ms, units, added + units, removed)
  elseif units > used then
    return write_log(policy, at_ms, units, added + units - used, removed)
  end
  return write_log(policy, newest_ms, units, added, removed)
end

function sliding_log.reset_at_ms(policy, text)
  return read_log(text) + policy[2]
end

function sliding_log.project(log)
  local projected, newest_ms = "0", decode_pair(log.text)
  for i = 1, log.count - 1 do
    if log.selected[i] then
      local at_ms, up_to = entry(log, i)
      if log.units + up_to > 0 then
        projected = projected .. string.format(":%d:%d", at_ms, log.units + up_to)
      end
    end
  end
  if projected == "0" then
    return log.text
  end
  return projected .. string.format(":%d:%d", newest_ms, log.units)
end

local function write_entry(at_ms, up_to)
  return string.format("%d%06d", at_ms, up_to % SIX_DIGITS)
end

function sliding_log.save(log, text)
  local newest_ms, units, added, removed = read_log(text)
  local gone = added - removed - units
  local starts_again = log.is_lost or not log.text
  local count, last = log.count, log.last - removed
  if starts_again then
    redis.call("DEL", KEYS[log.key])
    if gone < -removed then
      redis.call("RPUSH", KEYS[log.key], write_entry(entry(log, 1), last))
    end
  elseif removed > 0 then
    count = first_entry(log, is_up_to, -removed)
    redis.call("LTRIM", KEYS[log.key], 0, count - 1)
    redis.call("LSET", KEYS[log.key], -1, write_entry(entry(log, count), last))
  end
  local last_ms = count > 0 and entry(log, count)
  if added > 0 and last_ms == newest_ms and gone < -removed then
    redis.call("LSET", KEYS[log.key], -1, write_entry(newest_ms, last + added))
  elseif added > 0 then
    redis.call("RPUSH", KEYS[log.key], write_entry(newest_ms, last + added))
  end
  if not starts_again then
    local ended = first_entry(log, is_up_to, gone + 1) - 1
    if ended > 0 then
      redis.call("LTRIM", KEYS[log.key], ended, -1)
    end
  end
  return encode_pair(newest_ms, units)
end
