--[[
concurrency: twin of kernel.ts and slot.ts. Change those, this file and vectors.json in one commit.

policy  { limit, ttl_ms }
state   an outline in the value: the latest expiry, and how many units were held when it was written, as encode_pair
        writes them; in a sorted set of its own a member `<holder>:<units>` per slot, by its expiry
text    the outline; within a call latest_ms:units, and behind them `=` or, when nothing that is in the set counts any more,
        `*`, and what is not in it yet: `+member` with its expiry, or `-member`
decide  the text after a slot of `cost` units was taken and the instant it is over, or false
look    notes which slots tell what comes of a slot of `cost` units, for the reply
refund  releases the slot; renew: the text in which it expires anew, or false when it is not held
charge, used, carry, reset_at_ms   as everywhere
open    a set as it is when the call begins, read as far as it is needed; attach: tells it the outline that it belongs to; shown: the outline with the noted slots, in the
        layout of slot.ts; save: writes the set, and answers the outline
]]
local concurrency = { kind = "c", arity = 2, apart = true }

local function read_slots(text)
  local latest_ms, units, changes = string.match(text, "^(%d+):(%d+)([=*+-].*)$")
  if changes then
    return tonumber(latest_ms), tonumber(units), changes
  end
  latest_ms, units = decode_pair(text)
  return latest_ms, units, ""
end

local function units_of(member)
  return to_integer(string.match(member, "^%d+:(%d+)$"))
end

local function member_of(holder, units)
  return string.format("%s:%d", holder, units)
end

-- The expiry of each member that is not as it is in the set; 0 for one that was released. And how many there are.
local function changed_members(changes)
  local expiries, count = {}, 0
  for sign, member, expiry in string.gmatch(changes, "([+-])(%d+:%d+):?(%d*)") do
    if not expiries[member] then
      count = count + 1
    end
    expiries[member] = sign == "+" and tonumber(expiry) or 0
  end
  return expiries, count
end

function concurrency.open(key)
  return { key = key, count = redis.call("ZCARD", KEYS[key]), units = 0, over = 0, noted = {}, found = {} }
end

function concurrency.attach(slots, text, now_ms)
  slots.text = text
  slots.latest_ms, slots.units = decode_pair(text)
  slots.rest_ms = slots.latest_ms
  if slots.count == 0 then
    slots.is_lost = true -- evicted: all of them count until the latest has expired
    slots.over = slots.latest_ms <= now_ms and slots.units or 0
    return
  end
  for _, member in ipairs(redis.call("ZRANGEBYSCORE", KEYS[slots.key], "-inf", string.format("%d", now_ms))) do
    slots.over = slots.over + units_of(member)
  end
end

local function is_cleared(slots, changes)
  return not slots.text or string.byte(changes) == 42 -- *
end

-- Some members by their expiry, from place `from` on of those that live, or (when `is_latest`) from the end.
local function members(slots, changes, from, count, now_ms, is_latest)
  if is_cleared(slots, changes) then
    return {}
  elseif slots.is_lost then
    return from == 0 and slots.latest_ms > now_ms and { member_of("0", slots.units), slots.latest_ms } or {}
  elseif is_latest then
    return redis.call("ZREVRANGEBYSCORE", KEYS[slots.key], "+inf", string.format("(%d", now_ms), "WITHSCORES", "LIMIT", from, count)
  end
  return redis.call("ZRANGEBYSCORE", KEYS[slots.key], string.format("(%d", now_ms), "+inf", "WITHSCORES", "LIMIT", from, count)
end

-- When a member expires, or false when it is not held.
local function expiry_of(slots, member, changes, now_ms)
  if string.sub(member, 1, 2) == "0:" then -- nobody: never the same
    return false
  end
  local expiry = changed_members(changes)[member]
  if not expiry and not slots.is_lost and not is_cleared(slots, changes) then
    expiry = slots.found[member] or tonumber(redis.call("ZSCORE", KEYS[slots.key], member) or 0)
    slots.found[member] = expiry
    if expiry > now_ms then
      slots.noted[member] = expiry
    end
  end
  expiry = expiry or 0
  return expiry > now_ms and expiry
end

-- The latest expiry of all that are held. What is left out of the reply expires no later than the last one looked at.
local function latest_of(slots, changes, now_ms)
  local expiries, count = changed_members(changes)
  local latest_ms = 0
  for _, expiry in pairs(expiries) do
    latest_ms = math.max(latest_ms, expiry)
  end
  local found = members(slots, changes, 0, count + 1, now_ms, true)
  for i = 1, #found, 2 do
    local expiry = tonumber(found[i + 1])
    slots.noted[found[i]] = expiry
    slots.rest_ms = math.min(slots.rest_ms, expiry)
    if not expiries[found[i]] then
      latest_ms = math.max(latest_ms, expiry)
    end
  end
  return latest_ms
end

-- The units that are held, and what is not in the set yet.
local function held_of(text, slots)
  if not text then
    return 0, "*", 0
  end
  local latest_ms, units, changes = read_slots(text)
  if changes == "" then
    units = slots.units - slots.over
  end
  return units, changes, latest_ms
end

local function write_slots(latest_ms, units, changes)
  return string.format("%d:%d%s", latest_ms, units, changes), latest_ms
end

-- The text in which this member is held, and expires a ttl from now, not earlier than before.
local function with_member(policy, text, member, now_ms, slots)
  local units, changes, latest_ms = held_of(text, slots)
  local held = expiry_of(slots, member, changes, now_ms)
  local expiry = math.max(now_ms + policy[2], latest_ms) -- as if taken at the newest instant, where the clock has stepped back
  if not held then
    units = units + units_of(member)
  end
  return write_slots(expiry, units, string.format("%s+%s:%d", changes, member, expiry))
end

function concurrency.decide(policy, text, cost, now_ms, slots, holder)
  local units, changes = held_of(text, slots)
  local member = member_of(holder, cost)
  if units + cost > policy[1] and not expiry_of(slots, member, changes, now_ms) then
    return false
  end
  return with_member(policy, text, member, now_ms, slots)
end

function concurrency.look(policy, text, cost, now_ms, slots, holder)
  local units, changes = held_of(text, slots)
  if cost > 0 then
    expiry_of(slots, member_of(holder, cost), changes, now_ms)
  end
  local missing = cost <= policy[1] and units + cost - policy[1] or 0
  local expiries = changed_members(changes)
  local from, count = 0, 1
  while missing > 0 and count > 0 do
    local found = members(slots, changes, from, 16, now_ms)
    count = #found / 2
    from = from + count
    for i = 1, #found, 2 do
      if missing > 0 then
        slots.noted[found[i]] = tonumber(found[i + 1])
        if not expiries[found[i]] then
          missing = missing - units_of(found[i])
        end
      end
    end
  end
end

function concurrency.refund(_, text, cost, _, now_ms, slots, holder)
  local units, changes = held_of(text, slots)
  local member = member_of(holder, cost)
  if not expiry_of(slots, member, changes, now_ms) then
    return false
  end
  changes = changes .. "-" .. member
  if units == cost then
    return "", 0
  end
  return write_slots(latest_of(slots, changes, now_ms), units - cost, changes)
end

function concurrency.renew(policy, text, cost, now_ms, slots, holder)
  local _, changes = held_of(text, slots)
  local member = member_of(holder, cost)
  if not expiry_of(slots, member, changes, now_ms) then
    return false
  end
  return with_member(policy, text, member, now_ms, slots)
end

function concurrency.charge()
  return false
end

function concurrency.used(_, text, _, slots)
  return (held_of(text, slots))
end

function concurrency.carry(policy, units, now_ms, from, text, slots)
  if from then
    local held, changes, latest_ms = held_of(text, slots)
    return write_slots(latest_ms, held, changes == "" and "=" or changes)
  end
  local expiry = now_ms + policy[2]
  return write_slots(expiry, units, string.format("*+0:%d:%d", units, expiry))
end

function concurrency.reset_at_ms(_, text)
  return (read_slots(text))
end

function concurrency.shown(slots, now_ms)
  local found, rest = {}, slots.units - slots.over
  for member, expiry in pairs(slots.noted) do
    local holder, units = string.match(member, "^(%d+):(%d+)$")
    rest = rest - tonumber(units)
    found[#found + 1] = { expiry, tonumber(units), holder }
  end
  if slots.over > 0 then
    found[#found + 1] = { math.min(slots.latest_ms, now_ms), slots.over, "0" }
  end
  if rest > 0 then
    found[#found + 1] = { slots.rest_ms, rest, "0" }
  end
  for i = 2, #found do
    local one, at = found[i], i
    while at > 1 and found[at - 1][1] > one[1] do
      found[at] = found[at - 1]
      at = at - 1
    end
    found[at] = one
  end
  if #found == 1 and found[1][3] == "0" then
    return encode_pair(found[1][1], found[1][2])
  end
  local shown = {}
  for i, slot in ipairs(found) do
    shown[i] = string.format("%d:%d:%s", slot[1], slot[2], slot[3])
  end
  return table.concat(shown, ":")
end

function concurrency.save(slots, text, now_ms)
  local latest_ms, units, changes = read_slots(text)
  if is_cleared(slots, changes) then
    redis.call("DEL", KEYS[slots.key])
  elseif slots.is_lost and slots.latest_ms > now_ms then
    redis.call("ZADD", KEYS[slots.key], string.format("%d", slots.latest_ms), member_of("0", slots.units))
  else
    redis.call("ZREMRANGEBYSCORE", KEYS[slots.key], "-inf", string.format("%d", now_ms))
  end
  for member, expiry in pairs(changed_members(changes)) do
    if expiry > 0 then
      redis.call("ZADD", KEYS[slots.key], string.format("%d", expiry), member)
    else
      redis.call("ZREM", KEYS[slots.key], member)
    end
  end
  return encode_pair(latest_ms, units)
end
