--[[
concurrency: twin of kernel.ts and slot.ts. Change those, this file and vectors.json in one commit.

policy  { limit, ttl_ms }
state   a summary in the value: the latest expiry, and how many units were held when it was written, as encode_pair
        writes them; in a sorted set of its own a member `<holder>:<units>` per slot, by its expiry
text    the summary; during a call latest_ms:units, then `=` or, when no member of the set counts any more, `*`, then
        the changes that are not in the set yet: `+member` with its expiry, or `-member`
decide  the text after a slot of `cost` units is consumed and the instant at which it ends, or false
select  marks the slots that the reply needs so that the client can decide a slot of `cost` units
refund  releases the slot; renew: the text in which its expiry starts again, or false when it is not held
charge, used, migrate, reset_at_ms   as in the other kernels
heal    the text in which no slot expires later than a ttl from now, and that instant
open    opens the set, which is read only as far as needed
load    gives the set its summary
restore returns a summary of the set, whose value was evicted alone; false if it is empty
project returns the summary with the selected slots, in the layout of slot.ts
save    writes the set and returns its summary
]]
local concurrency = { kind = "c", arity = 2, external = true }

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

-- Returns the expiry of each member that differs from the set, 0 for a released one, and the number of these members.
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
  return { key = key, count = redis.call("ZCARD", KEYS[key]), units = 0, expired = 0, selected = {}, found = {} }
end

function concurrency.load(slots, text, now_ms)
  slots.text = text
  slots.latest_ms, slots.units = decode_pair(text)
  slots.rest_ms = slots.latest_ms
  if slots.count == 0 then
    slots.is_lost = true -- evicted: all slots count until the latest expires
    slots.expired = slots.latest_ms <= now_ms and slots.units or 0
    return
  end
  for _, member in ipairs(redis.call("ZRANGEBYSCORE", KEYS[slots.key], "-inf", string.format("%d", now_ms))) do
    slots.expired = slots.expired + units_of(member)
  end
end

function concurrency.restore(slots)
  local latest_ms, units = 0, 0
  local found = slots.count > 0 and redis.call("ZRANGEBYSCORE", KEYS[slots.key], "-inf", "+inf", "WITHSCORES") or {}
  for i = 1, #found, 2 do
    latest_ms, units = tonumber(found[i + 1]), units + units_of(found[i])
  end
  return units > 0 and encode_pair(latest_ms, units)
end

local function is_cleared(slots, changes)
  return not slots.text or string.byte(changes) == 42 -- *
end

-- Returns `count` live members by their expiry, from index `from`, or (with `is_latest`) from the end.
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

-- Returns when a member expires, or false when it is not held.
local function expiry_of(slots, member, changes, now_ms)
  if string.sub(member, 1, 2) == "0:" then -- no holder: never the same
    return false
  end
  local expiry = changed_members(changes)[member]
  if not expiry and not slots.is_lost and not is_cleared(slots, changes) then
    expiry = slots.found[member] or tonumber(redis.call("ZSCORE", KEYS[slots.key], member) or 0)
    slots.found[member] = expiry
    if expiry > now_ms then
      slots.selected[member] = expiry
    end
  end
  expiry = expiry or 0
  return expiry > now_ms and expiry
end

-- Returns the latest expiry of all held slots. Slots that the reply leaves out expire no later than the last one read
-- here.
local function latest_of(slots, changes, now_ms)
  local expiries, count = changed_members(changes)
  local latest_ms = 0
  for _, expiry in pairs(expiries) do
    latest_ms = math.max(latest_ms, expiry)
  end
  local found = members(slots, changes, 0, count + 1, now_ms, true)
  for i = 1, #found, 2 do
    local expiry = tonumber(found[i + 1])
    slots.selected[found[i]] = expiry
    slots.rest_ms = math.min(slots.rest_ms, expiry)
    if not expiries[found[i]] then
      latest_ms = math.max(latest_ms, expiry)
    end
  end
  return latest_ms
end

-- Returns the held units, the changes that are not in the set yet, and the latest expiry.
local function held_of(text, slots)
  if not text then
    return 0, "*", 0
  end
  local latest_ms, units, changes = read_slots(text)
  if changes == "" then
    units = slots.units - slots.expired
  end
  return units, changes, latest_ms
end

local function write_slots(latest_ms, units, changes)
  return string.format("%d:%d%s", latest_ms, units, changes), latest_ms
end

-- Returns the text in which this member is held and expires a ttl from now, no earlier than before.
local function with_member(policy, text, member, now_ms, slots)
  local units, changes, latest_ms = held_of(text, slots)
  local held = expiry_of(slots, member, changes, now_ms)
  -- No earlier than the newest slot, also after the clock steps back.
  local expiry = math.max(now_ms + policy[2], latest_ms)
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

function concurrency.select(policy, text, cost, now_ms, slots, holder)
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
        slots.selected[found[i]] = tonumber(found[i + 1])
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

function concurrency.migrate(policy, units, now_ms, from, text, slots)
  if from then
    local held, changes, latest_ms = held_of(text, slots)
    return write_slots(latest_ms, held, changes == "" and "=" or changes)
  end
  local expiry = now_ms + policy[2]
  return write_slots(expiry, units, string.format("*+0:%d:%d", units, expiry))
end

function concurrency.heal(policy, text, now_ms, slots)
  local units, changes = held_of(text, slots)
  local expiry = now_ms + policy[2]
  local later = { "0:" .. string.format("%d", slots.units) }
  if not slots.is_lost then
    later = redis.call("ZRANGEBYSCORE", KEYS[slots.key], string.format("(%d", expiry), "+inf")
  end
  for _, member in ipairs(later) do
    changes = string.format("%s+%s:%d", changes, member, expiry)
  end
  return write_slots(expiry, units, changes)
end

function concurrency.reset_at_ms(_, text)
  return (read_slots(text))
end

function concurrency.project(slots, now_ms)
  local found, rest = {}, slots.units - slots.expired
  for member, expiry in pairs(slots.selected) do
    local holder, units = string.match(member, "^(%d+):(%d+)$")
    rest = rest - tonumber(units)
    found[#found + 1] = { expiry, tonumber(units), holder }
  end
  if slots.expired > 0 then
    found[#found + 1] = { math.min(slots.latest_ms, now_ms), slots.expired, "0" }
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
  local projected = {}
  for i, slot in ipairs(found) do
    projected[i] = string.format("%d:%d:%s", slot[1], slot[2], slot[3])
  end
  return table.concat(projected, ":")
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
