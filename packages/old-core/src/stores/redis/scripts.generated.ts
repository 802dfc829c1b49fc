// Written by scripts/build/build-lua.mjs from the kernel.lua of every algorithm and lua/*.lua. Do not edit: edit those.
/**
 * In this order:
 * - algorithms/instant-and-field.lua
 * - algorithms/concurrency/kernel.lua
 * - algorithms/fixed-window/kernel.lua
 * - algorithms/interval-bucket/kernel.lua
 * - algorithms/leaky-bucket/kernel.lua
 * - algorithms/sliding-counter/kernel.lua
 * - algorithms/sliding-log/kernel.lua
 * - algorithms/sliding-window/kernel.lua
 * - algorithms/token-bucket/kernel.lua
 * - algorithms/whole-number.lua
 * - stores/redis/lua/clock.lua
 * - stores/redis/lua/policy.lua
 * - stores/redis/lua/failure.lua
 * - stores/redis/lua/call.lua
 * - stores/redis/lua/value.lua
 * - stores/redis/lua/external-state.lua
 * - stores/redis/lua/versions.lua
 * - stores/redis/lua/restored-value.lua
 * - stores/redis/lua/decide.lua
 * - stores/redis/lua/denied-costs.lua
 * - stores/redis/lua/escalation.lua
 * - stores/redis/lua/edits.lua
 * - stores/redis/lua/general.lua
 */
export const general: { readonly source: string; readonly sha1: string } = {
  sha1: 'ef169da073972a9da8fdfbefa84672742046d9fa',
  source: `local kinds, algorithms = string.match(ARGV[1], "^%a+"), {}
local MOST_UNITS = 4503599627370496
local function encode_pair(instant_ms, field)
  if field < 1000000 then
    return string.format("%d%06d", instant_ms, field)
  end
  return string.format("%d:%d", instant_ms, field)
end
local function decode_pair(text)
  local instant_ms, field = string.match(text, "^(%d+)(%d%d%d%d%d%d)$")
  if not instant_ms then
    instant_ms, field = string.match(text, "^(%d+):(%d+)$")
  end
  instant_ms, field = tonumber(instant_ms), tonumber(field)
  if not instant_ms or instant_ms > 9007199254740991 or field > 9007199254740991 then
    error("not an instant and a whole number")
  end
  return instant_ms, field
end
if kinds == "c" or #kinds > 1 and string.find(kinds, "c", 1, true) then
local function to_integer(digits)
  local value = digits and tonumber(digits)
  if not value or value > 9007199254740991 then
    error("not a whole number")
  end
  return value
end
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
    slots.is_lost = true
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
  return not slots.text or string.byte(changes) == 42
end
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
local function expiry_of(slots, member, changes, now_ms)
  if string.sub(member, 1, 2) == "0:" then
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
local function with_member(policy, text, member, now_ms, slots)
  local units, changes, latest_ms = held_of(text, slots)
  local held = expiry_of(slots, member, changes, now_ms)
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
algorithms.c = concurrency
end
if kinds == "f" or #kinds > 1 and string.find(kinds, "f", 1, true) then
local fixed_window = { kind = "f", arity = 4 }
function fixed_window.decide(policy, text, cost, now_ms, _, _, count)
  local limit = policy[1]
  if cost > limit then
    return false
  end
  local end_ms, used
  if text then
    end_ms, used = decode_pair(text)
  end
  local is_live = text and now_ms < end_ms
  if not is_live then
    end_ms, used = now_ms + policy[2], 0
    if policy[3] == 1 then
      end_ms = (math.floor(now_ms / policy[2]) + 1) * policy[2]
    end
  end
  if used + cost > limit then
    return false
  end
  local fitting = 1
  if count then
    fitting = math.min(math.floor((limit - used) / cost), count)
  end
  return encode_pair(end_ms, used + fitting * cost), end_ms, fitting, is_live
end
function fixed_window.refund(_, text, cost, charged_until_ms, now_ms)
  local end_ms, used = decode_pair(text)
  if end_ms ~= (charged_until_ms or end_ms) or now_ms >= end_ms or used == 0 then
    return false
  end
  return encode_pair(end_ms, math.max(used - cost, 0)), end_ms
end
local function charge_now(policy, text, cost, now_ms)
  local units = math.min(cost, MOST_UNITS - (text and fixed_window.used(policy, text, now_ms) or 0))
  if units <= 0 then
    return false
  end
  return fixed_window.decide({ MOST_UNITS, policy[2], policy[3] }, text, units, now_ms)
end
function fixed_window.charge(policy, text, cost, charged_until_ms, now_ms)
  if not charged_until_ms then
    return charge_now(policy, text, cost, now_ms)
  elseif not text then
    return false
  end
  local end_ms, used = decode_pair(text)
  local used_after = math.min(used + cost, MOST_UNITS)
  if end_ms ~= charged_until_ms or now_ms >= end_ms or used_after <= used then
    return false
  end
  return encode_pair(end_ms, used_after), end_ms
end
function fixed_window.counts_denied(policy)
  return policy[4] == 1
end
function fixed_window.used(_, text, now_ms)
  local end_ms, used = decode_pair(text)
  return now_ms < end_ms and used or 0
end
function fixed_window.migrate(policy, units, now_ms, from, text)
  local end_ms = now_ms + policy[2]
  if from then
    end_ms = decode_pair(text)
  elseif policy[3] == 1 then
    end_ms = (math.floor(now_ms / policy[2]) + 1) * policy[2]
  end
  return encode_pair(end_ms, units), end_ms
end
function fixed_window.reset_at_ms(_, text)
  return (decode_pair(text))
end
algorithms.f = fixed_window
end
if kinds == "i" or #kinds > 1 and string.find(kinds, "i", 1, true) then
local interval_bucket = { kind = "i", arity = 4 }
local function at_last_boundary(policy, text, now_ms)
  local refill, every_ms = policy[2], policy[3]
  local boundary_ms, missing = decode_pair(text)
  local periods = math.max(math.floor((now_ms - boundary_ms) / every_ms), 0)
  if periods >= math.ceil(missing / refill) then
    return now_ms, 0
  end
  return boundary_ms + periods * every_ms, missing - periods * refill
end
local function write_missing(policy, boundary_ms, missing)
  return encode_pair(boundary_ms, missing), boundary_ms + math.ceil(missing / policy[2]) * policy[3]
end
function interval_bucket.decide(policy, text, cost, now_ms, _, _, count)
  local capacity, overdraft = policy[1], policy[4]
  local needed = cost
  if overdraft > 0 then
    needed = math.max(1, cost - overdraft)
  end
  if needed > capacity then
    return false
  end
  local boundary_ms, missing = now_ms, 0
  if text then
    boundary_ms, missing = at_last_boundary(policy, text, now_ms)
  end
  if needed + missing > capacity then
    return false
  end
  local fitting = 1
  if count then
    fitting = math.min(math.floor((capacity - missing - needed) / cost) + 1, count)
  end
  local after, reset_at_ms = write_missing(policy, boundary_ms, missing + fitting * cost)
  return after, reset_at_ms, fitting
end
function interval_bucket.refund(policy, text, cost, _, now_ms)
  local boundary_ms, missing = at_last_boundary(policy, text, now_ms)
  if missing == 0 then
    return false
  end
  if missing <= cost then
    return "", 0
  end
  return write_missing(policy, boundary_ms, missing - cost)
end
function interval_bucket.charge(policy, text, cost, _, now_ms)
  local boundary_ms, missing = now_ms, 0
  if text then
    boundary_ms, missing = at_last_boundary(policy, text, now_ms)
  end
  local most = math.min(math.floor(MOST_UNITS / policy[3]) * policy[2], MOST_UNITS)
  local missing_after = math.min(missing + cost, most)
  if missing_after <= missing then
    return false
  end
  return write_missing(policy, boundary_ms, missing_after)
end
function interval_bucket.used(policy, text, now_ms)
  local _, missing = at_last_boundary(policy, text, now_ms)
  return missing
end
function interval_bucket.migrate(policy, units, now_ms, from, text)
  local boundary_ms = now_ms
  if from and from[3] == policy[3] then
    boundary_ms = at_last_boundary(from, text, now_ms)
  end
  return write_missing(policy, boundary_ms, math.min(units, policy[1] + policy[4]))
end
function interval_bucket.reset_at_ms(policy, text)
  local _, reset_at_ms = write_missing(policy, decode_pair(text))
  return reset_at_ms
end
algorithms.i = interval_bucket
end
if kinds == "p" or #kinds > 1 and string.find(kinds, "p", 1, true) then
local leaky_bucket = { kind = "p", arity = 4 }
local LONGEST_LINE = 4503599627370496
local function write_end(free_at_ms, part)
  local reset_at_ms = free_at_ms
  if part > 0 then
    reset_at_ms = free_at_ms + 1
  end
  return encode_pair(free_at_ms, part), reset_at_ms
end
local function write_line(now_ms, ahead, p)
  return write_end(now_ms + math.floor(ahead / p), ahead % p)
end
local function line_ahead(policy, text, now_ms)
  local p = policy[2]
  local free_at_ms, part = decode_pair(text)
  return math.max((free_at_ms - now_ms) * p + math.min(part, p - 1), 0)
end
local function most_units(policy)
  return math.ceil(policy[4] / policy[3]) + 1
end
function leaky_bucket.decide(policy, text, cost, now_ms, _, _, count)
  local limit, p, q, tolerance = policy[1], policy[2], policy[3], policy[4]
  if cost > limit then
    return false
  end
  local ahead = 0
  if text then
    local free_at_ms, part = decode_pair(text)
    part = math.min(part, p - 1)
    if now_ms < free_at_ms - math.floor((tolerance - (cost - 1) * q - part) / p) then
      return false
    end
    ahead = line_ahead(policy, text, now_ms)
  end
  local fitting = 1
  if count then
    fitting = math.min(math.floor((tolerance - ahead - (cost - 1) * q) / (cost * q)) + 1, count)
  end
  local after, reset_at_ms = write_line(now_ms, ahead + fitting * cost * q, p)
  return after, reset_at_ms, fitting
end
function leaky_bucket.refund(policy, text, cost, charged_until_ms, now_ms)
  local p, q = policy[2], policy[3]
  local free_at_ms, part = decode_pair(text)
  local _, reset_at_ms = write_end(free_at_ms, part)
  if reset_at_ms ~= (charged_until_ms or reset_at_ms) or reset_at_ms <= now_ms then
    return false
  end
  part = math.min(part, p - 1) - math.min(cost, math.floor(LONGEST_LINE / q)) * q
  local after, after_reset_at_ms = write_end(free_at_ms + math.floor(part / p), part - math.floor(part / p) * p)
  if after_reset_at_ms <= now_ms then
    return "", 0
  end
  return after, after_reset_at_ms
end
function leaky_bucket.charge(policy, text, cost, _, now_ms)
  local p, q = policy[2], policy[3]
  local ahead = text and line_ahead(policy, text, now_ms) or 0
  local units = math.min(cost, math.floor(math.max(LONGEST_LINE - ahead, 0) / q))
  if units == 0 then
    return false
  end
  return write_line(now_ms, ahead + units * q, p)
end
function leaky_bucket.used(policy, text, now_ms)
  return math.min(math.ceil(line_ahead(policy, text, now_ms) / policy[3]), LONGEST_LINE)
end
function leaky_bucket.migrate(policy, units, now_ms, from, text)
  local p, q = policy[2], policy[3]
  if from and leaky_bucket.used(from, text, now_ms) == units then
    local free_at_ms, part = decode_pair(text)
    if from[2] == p then
      return write_end(free_at_ms, part)
    end
    local _, reset_at_ms = write_end(free_at_ms, part)
    return write_end(reset_at_ms, 0)
  end
  return write_line(now_ms, math.min(units, most_units(policy)) * q, p)
end
function leaky_bucket.reset_at_ms(_, text)
  local _, reset_at_ms = write_end(decode_pair(text))
  return reset_at_ms
end
algorithms.p = leaky_bucket
end
if kinds == "w" or #kinds > 1 and string.find(kinds, "w", 1, true) then
local function to_integer(digits)
  local value = digits and tonumber(digits)
  if not value or value > 9007199254740991 then
    error("not a whole number")
  end
  return value
end
local sliding_counter = { kind = "w", arity = 2 }
local function most_units(window_ms)
  return math.min(math.floor(9007199254740991 / window_ms), 999999999999999)
end
local function window_start(at_ms, window_ms)
  return math.floor(at_ms / window_ms) * window_ms
end
local function read_windows(window_ms, text)
  local last_ms, length_ms, current, previous = string.match(text, "^(%d+):(%d+):(%d+):(%d+)$")
  last_ms, length_ms, current, previous =
    to_integer(last_ms), to_integer(length_ms), to_integer(current), to_integer(previous)
  if length_ms == 0 then
    error("not a state of windows")
  end
  if length_ms ~= window_ms then
    return last_ms, current + previous, 0, false
  end
  return last_ms, current, previous, true
end
local function last_leave_ms(window_ms, last_ms, current)
  local windows = 1
  if current > 0 then
    windows = 2
  end
  return window_start(last_ms, window_ms) + windows * window_ms
end
local function write_windows(window_ms, last_ms, current, previous)
  return string.format("%d:%d:%d:%d", last_ms, window_ms, current, previous), last_leave_ms(window_ms, last_ms, current)
end
local function windows_at(window_ms, text, now_ms)
  local last_ms, current, previous, same_length = read_windows(window_ms, text)
  local at_ms = math.max(now_ms, last_ms)
  local start_ms = window_start(at_ms, window_ms)
  local passed = (start_ms - window_start(last_ms, window_ms)) / window_ms
  if passed == 1 then
    current, previous = 0, current
  elseif passed > 1 then
    current, previous = 0, 0
  end
  local goes_on = same_length and passed == 0
  return at_ms, current, math.min(previous, most_units(window_ms)), start_ms + window_ms - at_ms, goes_on
end
function sliding_counter.decide(policy, text, cost, now_ms, _, _, count)
  local limit, window_ms = policy[1], policy[2]
  if cost > limit then
    return false
  end
  if not text then
    local fitting = count and math.min(math.floor(limit / cost), count) or 1
    local after, ends_at_ms = write_windows(window_ms, now_ms, fitting * cost, 0)
    return after, ends_at_ms, fitting
  end
  local at_ms, current, previous, reach_ms, goes_on = windows_at(window_ms, text, now_ms)
  if cost > limit - current or previous * reach_ms > (limit - current - cost) * window_ms then
    return false
  end
  local fitting = 1
  if count then
    local free = limit - current - math.ceil(previous * reach_ms / window_ms)
    fitting = math.min(math.floor(free / cost), count)
  end
  local after, ends_at_ms = write_windows(window_ms, at_ms, current + fitting * cost, previous)
  return after, ends_at_ms, fitting, goes_on and current > 0
end
local function age_of(window_ms, last_ms, until_ms, now_ms)
  local end_ms = window_start(last_ms, window_ms) + window_ms
  if now_ms >= until_ms then
    return nil
  elseif until_ms == end_ms + window_ms then
    return 0
  end
  return until_ms == end_ms and 1 or nil
end
local function refund_newest(window_ms, text, cost, now_ms)
  local last_ms, current, previous = read_windows(window_ms, text)
  local newer = math.min(cost, current)
  local older = math.min(cost - newer, previous)
  if last_leave_ms(window_ms, last_ms, current) <= now_ms or newer + older == 0 then
    return false
  end
  current, previous = current - newer, previous - older
  if current + previous == 0 or last_leave_ms(window_ms, last_ms, current) <= now_ms then
    return "", 0
  end
  return write_windows(window_ms, last_ms, current, previous)
end
function sliding_counter.refund(policy, text, cost, charged_until_ms, now_ms)
  local window_ms = policy[2]
  if not charged_until_ms then
    return refund_newest(window_ms, text, cost, now_ms)
  end
  local last_ms, current, previous, same_length = read_windows(window_ms, text)
  local age = same_length and age_of(window_ms, last_ms, charged_until_ms, now_ms)
  if age == 0 and current > 0 then
    current = math.max(current - cost, 0)
  elseif age == 1 and previous > 0 then
    previous = math.max(previous - cost, 0)
  else
    return false
  end
  if current + previous == 0 or last_leave_ms(window_ms, last_ms, current) <= now_ms then
    return "", 0
  end
  return write_windows(window_ms, last_ms, current, previous)
end
local function charge_now(policy, text, cost, now_ms)
  local most = most_units(policy[2])
  local units = math.min(cost, most - (text and sliding_counter.used(policy, text, now_ms) or 0))
  if units <= 0 then
    return false
  end
  return sliding_counter.decide({ most, policy[2] }, text, units, now_ms)
end
function sliding_counter.charge(policy, text, cost, charged_until_ms, now_ms)
  if not charged_until_ms then
    return charge_now(policy, text, cost, now_ms)
  elseif not text then
    return false
  end
  local window_ms = policy[2]
  local most = most_units(window_ms)
  local last_ms, current, previous, same_length = read_windows(window_ms, text)
  local age = same_length and age_of(window_ms, last_ms, charged_until_ms, now_ms)
  if age == 0 and current < most then
    current = current + math.min(cost, most - current)
  elseif age == 1 and previous < most then
    previous = previous + math.min(cost, most - previous)
  else
    return false
  end
  return write_windows(window_ms, last_ms, current, previous)
end
function sliding_counter.used(policy, text, now_ms)
  local _, current, previous, reach_ms = windows_at(policy[2], text, now_ms)
  return current + math.ceil(previous * reach_ms / policy[2])
end
function sliding_counter.migrate(policy, units, now_ms, from, text)
  local window_ms = policy[2]
  local most = most_units(window_ms)
  if not from or from[2] ~= window_ms then
    local last_ms = now_ms
    if from then
      last_ms = math.max(now_ms, (read_windows(from[2], text)))
    end
    return write_windows(window_ms, last_ms, math.min(units, most), 0)
  end
  local used = sliding_counter.used(policy, text, now_ms)
  if used == units then
    local last_ms, current, previous = read_windows(window_ms, text)
    return write_windows(window_ms, last_ms, current, previous)
  end
  local at_ms, current, _, reach_ms = windows_at(window_ms, text, now_ms)
  local current_after = math.min(math.ceil(current * units / used), units, most)
  local leaving = math.min(units - current_after, most)
  return write_windows(
    window_ms,
    at_ms,
    current_after,
    math.min(math.floor(leaving * window_ms / reach_ms), most)
  )
end
function sliding_counter.reset_at_ms(policy, text)
  local last_ms, current = read_windows(policy[2], text)
  return last_leave_ms(policy[2], last_ms, current)
end
algorithms.w = sliding_counter
end
if kinds == "l" or #kinds > 1 and string.find(kinds, "l", 1, true) then
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
local function entry(log, i)
  local read = log[i]
  if not read then
    local at_ms, up_to = decode_pair(redis.call("LINDEX", KEYS[log.key], i - 1))
    read = { at_ms, up_to }
    log[i] = read
  end
  return read[1], -((log.last - read[2]) % SIX_DIGITS)
end
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
local function gone_of(policy, log, units, added, removed, now_ms)
  local first = first_entry(log, is_later, now_ms - policy[2])
  local gone = added - removed - units
  if first > 1 then
    local _, up_to = entry(log, first - 1)
    gone = math.max(gone, up_to)
  end
  return gone, first
end
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
algorithms.l = sliding_log
end
if kinds == "s" or #kinds > 1 and string.find(kinds, "s", 1, true) then
local function to_integer(digits)
  local value = digits and tonumber(digits)
  if not value or value > 9007199254740991 then
    error("not a whole number")
  end
  return value
end
local sliding_window = { kind = "s", arity = 3 }
local function read_blocks(policy, text)
  local last_ms, block_ms, blocks, sum, newest, older = string.match(text, "^(%d+):(%d+):(%d+):(%d+):(%d+)([:%d]*)$")
  last_ms, sum, newest = to_integer(last_ms), to_integer(sum), to_integer(newest)
  if string.find(older, "::", 1, true) or string.sub(older, -1) == ":" or to_integer(block_ms) == 0 then
    error("not a state of blocks")
  end
  if to_integer(block_ms) ~= policy[2] or to_integer(blocks) ~= policy[3] then
    return last_ms, sum, sum, "", false
  end
  return last_ms, sum, newest, older, true
end
local function block_start(at_ms, block_ms)
  return math.floor(at_ms / block_ms) * block_ms
end
local function write_blocks(policy, last_ms, sum, newest, older)
  local age = 0
  if newest == 0 then
    age = (#string.match(older, "^[:0]*") + 1) / 2
  end
  return string.format("%d:%d:%d:%d:%d%s", last_ms, policy[2], policy[3], sum, newest, older),
    block_start(last_ms, policy[2]) + (policy[3] + 1 - age) * policy[2]
end
local function newest_counts(text, room)
  local sum, kept, zeros = 0, "", ""
  for count in string.gmatch(text, "%d+") do
    if room <= 0 then
      break
    end
    room = room - 1
    if count == "0" then
      zeros = zeros .. ":0"
    else
      sum = sum + tonumber(count)
      kept = kept .. zeros .. ":" .. count
      zeros = ""
    end
  end
  return sum, kept
end
local function in_window(policy, now_ms, last_ms, newest, older)
  if now_ms >= last_ms + policy[3] * policy[2] then
    return 0, 0, ""
  end
  local left = math.floor((now_ms + 1 - block_start(last_ms, policy[2])) / policy[2])
  local used, kept = newest_counts(older, policy[3] - left)
  return used + newest, newest, kept
end
local function fitting_of(count, free, cost)
  return count and math.min(math.floor(free / cost), count) or 1
end
function sliding_window.decide(policy, text, cost, now_ms, _, _, count)
  local limit, block_ms = policy[1], policy[2]
  if cost > limit then
    return false
  end
  local last_ms, sum, newest, older, same_length, passed = now_ms, 0, 0, "", false, 0
  if text then
    last_ms, sum, newest, older, same_length = read_blocks(policy, text)
    passed = (block_start(math.max(now_ms, last_ms), block_ms) - block_start(last_ms, block_ms)) / block_ms
    if passed > 0 or now_ms % block_ms == block_ms - 1 then
      sum, newest, older = in_window(policy, now_ms, last_ms, newest, older)
    end
  end
  if sum + cost > limit then
    return false
  end
  if passed > 0 then
    older = sum > 0 and string.rep(":0", passed - 1) .. string.format(":%d%s", newest, older) or ""
    newest, same_length = 0, false
  end
  local fitting = fitting_of(count, limit - sum, cost)
  local units = fitting * cost
  last_ms = math.max(now_ms, last_ms)
  local after, ends_at_ms = write_blocks(policy, last_ms, sum + units, newest + units, older)
  return after, ends_at_ms, fitting, same_length and newest > 0
end
local function live_counts(policy, text, now_ms)
  local last_ms, _, newest, older = read_blocks(policy, text)
  local used, first, rest = in_window(policy, now_ms, last_ms, newest, older)
  return used, string.format("%d%s", first, rest), last_ms
end
local function age_of(policy, last_ms, until_ms)
  return (block_start(last_ms, policy[2]) - block_start(until_ms, policy[2])) / policy[2] + policy[3]
end
local function refund_newest(policy, text, cost, now_ms)
  local used, kept, last_ms = live_counts(policy, text, now_ms)
  if used == 0 then
    return false
  elseif cost >= used then
    return "", 0
  end
  local counts, left = "", cost
  for count in string.gmatch(kept, "%d+") do
    local given = math.min(tonumber(count), left)
    left = left - given
    counts = counts .. string.format(":%d", tonumber(count) - given)
  end
  local newest, older = string.match(counts, "^:(%d+)(.*)$")
  return write_blocks(policy, last_ms, used - cost, tonumber(newest), older)
end
function sliding_window.refund(policy, text, cost, charged_until_ms, now_ms)
  if not charged_until_ms then
    return refund_newest(policy, text, cost, now_ms)
  end
  local last_ms, sum, newest, older, same_length = read_blocks(policy, text)
  if not same_length or now_ms >= charged_until_ms then
    return false
  end
  local age = age_of(policy, last_ms, charged_until_ms)
  local counts, at, given = "", 0, 0
  for count in string.gmatch(string.format("%d%s", newest, older), "%d+") do
    if at == age then
      given = math.min(cost, tonumber(count))
      count = string.format("%d", tonumber(count) - given)
    end
    counts = counts .. ":" .. count
    at = at + 1
  end
  if given == 0 then
    return false
  end
  if given == sum then
    return "", 0
  end
  newest, older = string.match(counts, "^:(%d+)(.*)$")
  local _, kept = newest_counts(older, at)
  return write_blocks(policy, last_ms, sum - given, tonumber(newest), kept)
end
local function charge_now(policy, text, cost, now_ms)
  local units = math.min(cost, MOST_UNITS - (text and live_counts(policy, text, now_ms) or 0))
  if units <= 0 then
    return false
  end
  return sliding_window.decide({ MOST_UNITS, policy[2], policy[3] }, text, units, now_ms)
end
function sliding_window.charge(policy, text, cost, charged_until_ms, now_ms)
  if not charged_until_ms then
    return charge_now(policy, text, cost, now_ms)
  elseif not text then
    return false
  end
  local last_ms, sum, newest, older, same_length = read_blocks(policy, text)
  local age = age_of(policy, last_ms, charged_until_ms)
  local more = math.min(cost, MOST_UNITS - sum)
  if not same_length or now_ms >= charged_until_ms or more <= 0 or age < 0 or age > policy[3] then
    return false
  end
  local counts, at = "", 0
  for count in string.gmatch(string.format("%d%s", newest, older), "%d+") do
    if at == age then
      count = string.format("%d", tonumber(count) + more)
    end
    counts = counts .. ":" .. count
    at = at + 1
  end
  if at <= age then
    counts = counts .. string.rep(":0", age - at) .. string.format(":%d", more)
  end
  newest, older = string.match(counts, "^:(%d+)(.*)$")
  return write_blocks(policy, last_ms, sum + more, tonumber(newest), older)
end
function sliding_window.used(policy, text, now_ms)
  return (live_counts(policy, text, now_ms))
end
function sliding_window.migrate(policy, units, now_ms, from, text)
  local used, kept, last_ms = 0, "", block_start(now_ms, policy[2]) + policy[2] - 1
  if from then
    used, kept, last_ms = live_counts(from, text, now_ms)
  end
  if not from or from[2] ~= policy[2] or from[3] ~= policy[3] then
    return write_blocks(policy, math.max(now_ms, last_ms), units, units, "")
  end
  local counts, scaled, migrated, before = {}, "", 0, 0
  for count in string.gmatch(kept, "%d+") do
    counts[#counts + 1] = tonumber(count)
  end
  for age = #counts, 1, -1 do
    migrated = migrated + counts[age]
    local upto = units
    if migrated ~= used then
      upto = math.min(math.ceil(migrated * units / used), units)
    end
    scaled = string.format(":%d", upto - before) .. scaled
    before = upto
  end
  local newest, older = string.match(scaled, "^:(%d+)(.*)$")
  return write_blocks(policy, last_ms, units, tonumber(newest), older)
end
function sliding_window.reset_at_ms(policy, text)
  local last_ms, sum, newest, older = read_blocks(policy, text)
  local _, ends_at_ms = write_blocks(policy, last_ms, sum, newest, older)
  return ends_at_ms
end
algorithms.s = sliding_window
end
if kinds == "t" or #kinds > 1 and string.find(kinds, "t", 1, true) then
local token_bucket = { kind = "t", arity = 4 }
local function write_debt(full_at_ms, part)
  local reset_at_ms = full_at_ms
  if part > 0 then
    reset_at_ms = full_at_ms + 1
  end
  return encode_pair(full_at_ms, part), reset_at_ms
end
function token_bucket.decide(policy, text, cost, now_ms, _, _, count)
  local capacity, p, q, overdraft = policy[1], policy[2], policy[3], policy[4]
  local needed = cost
  if overdraft > 0 then
    needed = math.max(1, cost - overdraft)
  end
  if needed > capacity then
    return false
  end
  local debt = 0
  if text then
    local full_at_ms, part = decode_pair(text)
    part = math.min(part, p - 1)
    if now_ms < full_at_ms - math.floor((capacity * q - needed * q - part) / p) then
      return false
    end
    debt = math.max((full_at_ms - now_ms) * p + part, 0)
  end
  local fitting = 1
  if count then
    fitting = math.min(math.floor((capacity * q - needed * q - debt) / (cost * q)) + 1, count)
  end
  debt = debt + fitting * cost * q
  local after, reset_at_ms = write_debt(now_ms + math.floor(debt / p), debt % p)
  return after, reset_at_ms, fitting
end
function token_bucket.refund(policy, text, cost, _, now_ms)
  local p, q = policy[2], policy[3]
  local full_at_ms, part = decode_pair(text)
  local _, reset_at_ms = write_debt(full_at_ms, part)
  if reset_at_ms <= now_ms then
    return false
  end
  part = math.min(part, p - 1) - math.min(cost, math.floor(MOST_UNITS / q)) * q
  local after, after_reset_at_ms = write_debt(full_at_ms + math.floor(part / p), part - math.floor(part / p) * p)
  if after_reset_at_ms <= now_ms then
    return "", 0
  end
  return after, after_reset_at_ms
end
function token_bucket.charge(policy, text, cost, _, now_ms)
  local p, q = policy[2], policy[3]
  local debt = 0
  if text then
    local full_at_ms, part = decode_pair(text)
    debt = math.max((full_at_ms - now_ms) * p + math.min(part, p - 1), 0)
  end
  local charged = math.min(cost, math.floor((MOST_UNITS - debt) / q))
  if charged <= 0 then
    return false
  end
  debt = debt + charged * q
  return write_debt(now_ms + math.floor(debt / p), debt % p)
end
function token_bucket.used(policy, text, now_ms)
  local p, q = policy[2], policy[3]
  local full_at_ms, part = decode_pair(text)
  local debt = math.max((full_at_ms - now_ms) * p + math.min(part, p - 1), 0)
  return math.min(math.ceil(debt / q), MOST_UNITS)
end
function token_bucket.migrate(policy, units, now_ms)
  local debt = math.min(units, policy[1] + policy[4]) * policy[3]
  return write_debt(now_ms + math.floor(debt / policy[2]), debt % policy[2])
end
function token_bucket.reset_at_ms(_, text)
  local _, reset_at_ms = write_debt(decode_pair(text))
  return reset_at_ms
end
algorithms.t = token_bucket
end
local function to_integer(digits)
  local value = digits and tonumber(digits)
  if not value or value > 9007199254740991 then
    error("not a whole number")
  end
  return value
end
local time = redis.call("TIME")
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local LATEST_MS = 9007199254740991
local at
local function read_policy()
  local algorithm = algorithms[ARGV[at]]
  local policy = { algorithm = algorithm }
  for k = 1, algorithm.arity do
    policy[k] = tonumber(ARGV[at + k])
  end
  at = at + 1 + algorithm.arity
  return policy
end
local function server_error_of(problem)
  if type(problem) == "table" then
    return problem.err
  end
  local is_text = type(problem) == "string"
  return is_text and (string.find(problem, "^%u+ ") or string.find(problem, "^@")) and problem or nil
end
local texts, blocked_until_ms, reset_at_ms, plan_of = {}, {}, {}, {}
local denials = {}
local failed = {}
local reply = { now_ms }
local reading
local plans = {}
at = 4
local external_keys, external_states = {}, {}
local has_external = string.find(kinds, "D", 1, true)
local has_identities = string.find(kinds, "I", 1, true)
local key_count = #KEYS
if has_identities then
  key_count, at = key_count - tonumber(ARGV[at]), at + 1
end
local identity_keys_from, has_repeated = key_count, false
if has_external then
  local count = tonumber(ARGV[at])
  key_count = key_count - count
  for i = 1, count do
    local key, id = tonumber(ARGV[at + 1]), ARGV[at + 2] .. ARGV[at + 3]
    external_keys[key] = external_keys[key] or {}
    external_keys[key][id] = key_count + i
    at = at + 3
  end
  at = at + 1
end
local has_versions = string.find(kinds, "V", 1, true)
local function read_versions(plan)
  local version, count = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  at = at + 1
  if version == 0 then
    return
  end
  plan.version, plan.earlier = version, {}
  at = at + 1
  for _ = 1, count do
    local earlier_version, carry_over = tonumber(ARGV[at]), ARGV[at + 1]
    at = at + 2
    local earlier = carry_over == "k" and read_policy() or {}
    earlier.carry_over = carry_over
    plan.earlier[earlier_version] = earlier
  end
end
local escalates = string.find(kinds, "X", 1, true)
local counts_denied = string.find(kinds, "N", 1, true)
local function read_escalation(plan)
  local count = tonumber(ARGV[at])
  at = at + 1
  if count > 0 then
    plan.denials, plan.decay_ms, plan.blocks_ms = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), {}
    for i = 1, count do
      plan.blocks_ms[i] = tonumber(ARGV[at + 1 + i])
    end
    at = at + 2 + count
  end
end
for i = 1, tonumber(ARGV[2]) do
  local plan = { count = tonumber(ARGV[at]), kept_ms = tonumber(ARGV[at + 1]) }
  at = at + 2
  if has_versions then
    read_versions(plan)
  end
  if escalates then
    read_escalation(plan)
  end
  for j = 1, plan.count do
    plan[j] = read_policy()
  end
  plans[i] = plan
end
local function read(key)
  local value = redis.pcall("GET", KEYS[key])
  texts[key], blocked_until_ms[key] = "", 0
  if type(value) == "table" then
    failed[key] = true
    reply[key + 1] = { value.err }
    return ""
  end
  reply[key + 1] = value
  local first = value and string.byte(value)
  if first == 33 then
    local instant, states = string.match(value, "^!(%d+)!(.*)$")
    blocked_until_ms[key] = to_integer(instant)
    value, first = states, string.byte(states)
  end
  if first == 94 then
    local count, blocks, forgotten_at, states = string.match(value, "^%^(%d+):(%d+):(%d+)%^(.*)$")
    denials[key] = { to_integer(count), to_integer(blocks), to_integer(forgotten_at) }
    value = states
  end
  texts[key] = value or ""
  return texts[key]
end
local function split(text, count)
  local states, from = {}, 1
  for j = 1, count do
    local ending = j < count and string.find(text, " ", from, true) or #text + 1
    if j < count and ending > #text and text ~= "" then
      error("states of fewer policies")
    end
    states[j] = string.sub(text, from, ending - 1)
    from = ending + 1
  end
  return states
end
local function end_of(plan, text)
  local states, latest_ms = split(text, plan.count), 0
  for j = 1, plan.count do
    if states[j] ~= "" then
      latest_ms = math.max(latest_ms, plan[j].algorithm.reset_at_ms(plan[j], states[j]))
    end
  end
  return latest_ms
end
local function external_state_of(key, policy, j, text)
  if not policy.algorithm.external then
    return nil
  end
  local id = string.format("%s%d", policy.algorithm.kind, j)
  external_states[key] = external_states[key] or {}
  local external = external_states[key][id] or policy.algorithm.open(external_keys[key][id])
  external_states[key][id] = external
  if not external.text and string.find(text, "^%d+:?%d*$") then
    policy.algorithm.load(external, text, now_ms)
  end
  return external
end
local function project_external(key, value)
  local before, states = "", value
  for _, prefix in ipairs({ "^!%d+!", "^%^[%d:]+%^", has_versions and "^%d+;" or "^!" }) do
    local _, ending = string.find(states, prefix)
    before, states = before .. string.sub(states, 1, ending or 0), string.sub(states, (ending or 0) + 1)
  end
  local projected, j = {}, 0
  for state in string.gmatch(states .. " ", "([^ ]*) ") do
    j = j + 1
    projected[j] = state
  end
  for id, external in pairs(external_states[key]) do
    if external.text then
      projected[tonumber(string.sub(id, 2))] = algorithms[string.sub(id, 1, 1)].project(external, now_ms)
    end
  end
  return before .. table.concat(projected, " ")
end
local function save_external(key, expire_at_ms)
  local plan = plan_of[key]
  local text = texts[key]
  local states, saved = split(text, plan.count), {}
  for j = 1, plan.count do
    local algorithm = plan[j].algorithm
    local id = string.format("%s%d", algorithm.kind, j)
    if algorithm.external and states[j] ~= "" then
      local index = external_keys[key][id]
      saved[id] = true
      local external = external_states[key] and external_states[key][id]
      if external and external.text ~= states[j] then
        states[j] = algorithm.save(external, states[j], now_ms)
      end
      redis.call("PEXPIREAT", KEYS[index], string.format("%d", expire_at_ms))
    end
  end
  for id, index in pairs(external_keys[key]) do
    if not saved[id] then
      redis.call("DEL", KEYS[index])
    end
  end
  return text ~= "" and table.concat(states, " ") or ""
end
local versions = {}
local migrated
local migrate
if has_versions then
  local function units_to_migrate(policy, earlier, text, external)
    if earlier.carry_over == "r" then
      return 0
    elseif earlier.carry_over == "u" then
      return policy[1]
    end
    if external then
      earlier.algorithm.select(earlier, text, 0, now_ms, external)
    end
    return earlier.algorithm.used(earlier, text, now_ms, external)
  end
  function migrate(key, plan)
    local text = texts[key]
    if text == "" then
      versions[key] = plan.version
    elseif not versions[key] then
      local version, states = string.match(text, "^(%d+);(.+)$")
      versions[key], text = to_integer(version), states
      texts[key] = states
    end
    local version = versions[key]
    if version == plan.version then
      return true
    end
    local earlier = plan.earlier[version]
    if not earlier then
      return false
    end
    migrated[#migrated + 1] = { key, text, reset_at_ms[key], plan_of[key], version }
    local found = earlier.algorithm and external_state_of(key, earlier, 1, text)
    local policy, units, after, ends_at_ms = plan[1], units_to_migrate(plan[1], earlier, text, found), "", 0
    if units > 0 then
      local from = earlier.algorithm == policy.algorithm and earlier
      local external = external_state_of(key, policy, 1, "")
      after, ends_at_ms = policy.algorithm.migrate(policy, units, now_ms, from, text, external)
    end
    texts[key], reset_at_ms[key], plan_of[key], versions[key] = after, ends_at_ms, plan, plan.version
    return true
  end
end
local function undo_migrations()
  for i = #migrated, 1, -1 do
    local key = migrated[i][1]
    texts[key], reset_at_ms[key], plan_of[key], versions[key] =
      migrated[i][2], migrated[i][3], migrated[i][4], migrated[i][5]
  end
end
local function text_of(key, plan)
  if texts[key] then
    return texts[key]
  end
  local text = read(key)
  if not has_external or reply[key + 1] then
    return text
  end
  local states = {}
  for j = 1, plan.count do
    local external = plan[j].algorithm.restore and external_state_of(key, plan[j], j, "")
    states[j] = external and plan[j].algorithm.restore(external) or ""
  end
  text = table.concat(states, " ")
  if string.find(text, "%d") then
    texts[key], versions[key] = text, plan.version
    reply[key + 1] = plan.version and string.format("%d;%s", plan.version, text) or text
  end
  return texts[key]
end
local denied_costs
local function keep_denied_cost(key, plan, j, cost)
  local counts = plan[j].algorithm.counts_denied
  if counts and counts(plan[j]) then
    denied_costs[#denied_costs + 1] = { key, plan, j, cost }
  end
end
local function decide(key, plan, text, cost, holder, is_open)
  local all_decide = has_external or counts_denied
  if plan.count == 1 and not all_decide then
    return plan[1].algorithm.decide(plan[1], text ~= "" and text, cost, now_ms)
  end
  local states, latest_ms, allowed = split(text, plan.count), 0, true
  for j = 1, plan.count do
    local algorithm, state = plan[j].algorithm, states[j] ~= "" and states[j]
    local external = has_external and external_state_of(key, plan[j], j, states[j])
    if external then
      algorithm.select(plan[j], state, cost, now_ms, external, holder)
    end
    if cost > 0 then
      local after, ends_at_ms = algorithm.decide(plan[j], state, cost, now_ms, external, holder)
      if not after and not all_decide then
        return false
      elseif not after and counts_denied and is_open then
        keep_denied_cost(key, plan, j, cost)
      end
      allowed = allowed and after
      states[j] = after or states[j]
      latest_ms = math.max(latest_ms, ends_at_ms or 0)
    end
  end
  return allowed and table.concat(states, " "), latest_ms
end
local undo
local denied
local function consume(upto)
  local allowed, readable, known = true, true, true
  undo = (has_external or upto - at > 3) and {}
  while at < upto do
    local key, plan, cost = tonumber(ARGV[at]), plans[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
    local holder = has_external and ARGV[at + 3]
    at = at + (has_external and 4 or 3)
    reading = key
    local text = text_of(key, plan)
    readable = readable and not failed[key]
    if plan.version and not failed[key] then
      known = migrate(key, plan) and known
      text = texts[key]
    end
    local is_open = known and readable and blocked_until_ms[key] <= now_ms
    allowed = allowed and is_open
    local decides
    if has_external then
      decides = not failed[key] and (not plan.version or versions[key] == plan.version)
    else
      decides = cost > 0 and (allowed or (escalates or counts_denied) and is_open)
    end
    if decides then
      local after, ends_at_ms = decide(key, plan, text, cost, holder, is_open)
      if not after then
        allowed = false
        if plan.denials and is_open then
          denied[key], denied.is_any = denied[key] or plan, true
        end
      elseif cost > 0 then
        if undo then
          undo[#undo + 1] = { key, text, reset_at_ms[key], plan_of[key] }
        end
        texts[key], reset_at_ms[key], plan_of[key] = after, ends_at_ms, plan
      end
    end
  end
  return allowed, readable, known
end
local function undo_request()
  for i = undo and #undo or 0, 1, -1 do
    local key = undo[i][1]
    texts[key], reset_at_ms[key], plan_of[key] = undo[i][2], undo[i][3], undo[i][4]
  end
end
local function read_states(from, upto)
  for part_at = from, upto - 1, has_external and 4 or 3 do
    reading = tonumber(ARGV[part_at])
    end_of(plans[tonumber(ARGV[part_at + 1])], texts[reading])
  end
end
local add_denied_costs
if counts_denied then
  function add_denied_costs(from, upto)
    read_states(from, upto)
    for i = 1, #denied_costs do
      local key, plan, j, cost = denied_costs[i][1], denied_costs[i][2], denied_costs[i][3], denied_costs[i][4]
      local states = split(texts[key], plan.count)
      local after = plan[j].algorithm.charge(plan[j], states[j] ~= "" and states[j], cost, nil, now_ms)
      if after then
        states[j] = after
        texts[key], plan_of[key] = table.concat(states, " "), plan
        reset_at_ms[key] = end_of(plan, texts[key])
      end
    end
  end
end
local count_denials
if escalates then
  function count_denials(from, upto)
    read_states(from, upto)
    for part_at = from, upto - 1, has_external and 4 or 3 do
      local key = tonumber(ARGV[part_at])
      local plan = denied[key]
      if plan then
        denied[key] = nil
        local before = denials[key]
        local count, blocks, forgotten_at_ms = 0, 0, 0
        if before and before[3] > now_ms then
          count, blocks, forgotten_at_ms = before[1], before[2], before[3]
        end
        count = count + 1
        local last_ms = now_ms
        blocked_until_ms[key] = 0
        if count >= plan.denials then
          count, blocks = 0, blocks + 1
          last_ms = now_ms + plan.blocks_ms[math.min(blocks, #plan.blocks_ms)]
          blocked_until_ms[key] = last_ms
        end
        denials[key] = { count, blocks, math.max(forgotten_at_ms, last_ms + plan.decay_ms) }
        reset_at_ms[key], plan_of[key] = end_of(plan, texts[key]), plan
      end
    end
  end
end
local perform
if string.find(kinds, "E", 1, true) then
  local IDENTITY_KEPT_MS = 60000
  local function is_repeated(identity)
    local is_new = redis.call("SET", KEYS[identity_keys_from + identity], "", "NX", "PXAT", now_ms + IDENTITY_KEPT_MS)
    has_repeated = has_repeated or not is_new
    return not is_new
  end
  local function settle(op, key, plan, cost, identity, by_ms)
    if by_ms and now_ms >= by_ms or identity and is_repeated(identity) then
      return false
    end
    local states, changed = split(texts[key], plan.count), false
    for j = 1, plan.count do
      local until_ms, holder = tonumber(ARGV[at + 2 + j]), ARGV[at + 3 + plan.count]
      local algorithm, after = plan[j].algorithm, false
      local is_asked = until_ms ~= 0
      if until_ms == -1 then
        until_ms, is_asked = nil, not algorithm.renew
      end
      local state, external = states[j] ~= "" and states[j], external_state_of(key, plan[j], j, states[j])
      if external and state then
        algorithm.select(plan[j], state, 0, now_ms, external)
      end
      if op == "refund" and state and is_asked then
        after = algorithm.refund(plan[j], state, cost, until_ms, now_ms, external, holder)
      elseif op == "charge" and is_asked then
        after = algorithm.charge(plan[j], state, cost, until_ms, now_ms, external)
      end
      changed = changed or after
      states[j] = after or states[j]
    end
    return changed and table.concat(states, " ")
  end
  local function hold(op, key, plan, cost, holder)
    local states, changed = split(texts[key], plan.count), false
    for j = 1, plan.count do
      local algorithm = plan[j].algorithm
      if algorithm.renew and states[j] ~= "" then
        local external = external_state_of(key, plan[j], j, states[j])
        local after
        if op == "renew" then
          after = algorithm.renew(plan[j], states[j], cost, now_ms, external, holder)
        else
          after = algorithm.refund(plan[j], states[j], cost, 0, now_ms, external, holder)
        end
        changed = changed or after
        states[j] = after or states[j]
      end
    end
    return changed and table.concat(states, " ")
  end
  local function forget_units(key)
    local before = denials[key]
    denials[key] = before and before[2] > 0 and { 0, before[2], before[3] } or nil
    return ""
  end
  local function heal(key, plan)
    local states, changed = split(texts[key], plan.count), false
    for j = 1, plan.count do
      local policy, state = plan[j], states[j]
      local algorithm, external = policy.algorithm, external_state_of(key, policy, j, state)
      if state ~= "" then
        if external then
          algorithm.select(policy, state, 0, now_ms, external)
        end
        local _, latest_ms = algorithm.migrate(policy, MOST_UNITS, now_ms, nil, nil, external)
        if algorithm.reset_at_ms(policy, state) > latest_ms then
          local units, after = algorithm.used(policy, state, now_ms, external), ""
          if algorithm.heal then
            after = algorithm.heal(policy, state, now_ms, external)
          elseif units > 0 then
            after = algorithm.migrate(policy, units, now_ms, nil, nil, external)
          end
          states[j], changed = after, true
        end
      end
    end
    return changed and table.concat(states, " ")
  end
  function perform(op, upto)
    local key, plan, number = tonumber(ARGV[at]), plans[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
    reading = key
    local after = text_of(key, plan)
    if failed[key] then
      return
    end
    if plan.version then
      if not migrate(key, plan) then
        return
      end
      after = texts[key]
    end
    end_of(plan, after)
    if op == "refund" or op == "charge" then
      local next_at = at + 3 + plan.count + (has_external and 1 or 0)
      local identity = has_identities and op == "refund" and tonumber(ARGV[next_at])
      local by_at = identity and next_at + 1 or next_at
      after = settle(op, key, plan, number, identity, by_at < upto and tonumber(ARGV[by_at]))
    elseif op == "release" or op == "renew" then
      after = hold(op, key, plan, number, ARGV[at + 3])
    elseif op == "heal" then
      after = now_ms < number and heal(key, plan)
    elseif op == "block" then
      blocked_until_ms[key] = now_ms + number
      after = ARGV[at + 3] == "1" and forget_units(key) or after
    elseif op == "unblock" then
      blocked_until_ms[key], denials[key] = 0, nil
    else
      after = forget_units(key)
    end
    if after then
      if not string.find(after, "%d") then
        after = ""
      end
      texts[key], reset_at_ms[key], plan_of[key] = after, end_of(plan, after), plan
    end
  end
end
local allowed_flags = {}
for i = 1, tonumber(ARGV[3]) do
  local op, upto = ARGV[at], at + 2 + tonumber(ARGV[at + 1])
  at = at + 2
  local readable, allowed, problem = true, false, nil
  migrated = has_versions and {}
  if op == "consume" or op == "peek" and has_external then
    local from = at
    local all_readable, all_known
    denied, denied_costs = escalates and {}, counts_denied and {}
    readable, allowed, all_readable, all_known = pcall(consume, upto)
    problem, allowed = allowed, readable and allowed and op == "consume"
    if not (readable and allowed) then
      undo_request()
    end
    if has_versions and not (readable and all_readable and op == "consume") then
      undo_migrations()
    end
    if counts_denied and readable and all_readable and all_known and #denied_costs > 0 and op == "consume" then
      readable, problem = pcall(add_denied_costs, from, upto)
    end
    if escalates and readable and all_readable and all_known and denied.is_any and op == "consume" then
      readable, problem = pcall(count_denials, from, upto)
    end
  elseif op == "peek" then
    for part_at = at, upto - 1, 2 do
      if readable then
        reading = tonumber(ARGV[part_at])
        readable = texts[reading] or pcall(read, reading)
      end
    end
  else
    readable, problem = pcall(perform, op, upto)
  end
  if not readable then
    failed[reading] = true
    reply[reading + 1] = { server_error_of(problem) or "not a value of this layout" }
  end
  allowed_flags[i] = readable and allowed and "1" or "0"
  at = upto
end
for key = 1, key_count do
  if reply[key + 1] == nil then
    reply[key + 1] = false
  end
  if external_states[key] and type(reply[key + 1]) == "string" and not failed[key] then
    reply[key + 1] = project_external(key, reply[key + 1])
  end
  if plan_of[key] and not failed[key] then
    local expire_at_ms, remembered = reset_at_ms[key], denials[key]
    if remembered and remembered[3] > now_ms then
      expire_at_ms = math.max(expire_at_ms, remembered[3])
    end
    if blocked_until_ms[key] > now_ms then
      expire_at_ms = math.max(expire_at_ms, blocked_until_ms[key])
    end
    expire_at_ms = math.min(expire_at_ms + plan_of[key].kept_ms, LATEST_MS)
    if external_keys[key] then
      texts[key] = save_external(key, expire_at_ms)
    end
    local value = texts[key]
    if versions[key] and value ~= "" then
      value = string.format("%d;%s", versions[key], value)
    end
    if remembered and remembered[3] > now_ms then
      value = string.format("^%d:%d:%d^%s", remembered[1], remembered[2], remembered[3], value)
    end
    if blocked_until_ms[key] > now_ms then
      value = string.format("!%d!%s", blocked_until_ms[key], value)
    end
    if value == "" then
      redis.call("DEL", KEYS[key])
    else
      redis.call("SET", KEYS[key], value, "PXAT", string.format("%d", expire_at_ms))
    end
    texts[key] = value
  end
end
if string.find(kinds, "C", 1, true) then
  local after = { has_repeated and "repeated" or table.concat(allowed_flags) }
  for key = 1, key_count do
    after[key + 1] = plan_of[key] and not failed[key] and texts[key] or reply[key + 1]
  end
  reply[key_count + 2] = after
end
return reply`,
};

/**
 * In this order:
 * - algorithms/instant-and-field.lua
 * - algorithms/fixed-window/kernel.lua
 * - algorithms/interval-bucket/kernel.lua
 * - algorithms/leaky-bucket/kernel.lua
 * - algorithms/sliding-counter/kernel.lua
 * - algorithms/sliding-window/kernel.lua
 * - algorithms/token-bucket/kernel.lua
 * - stores/redis/lua/clock.lua
 * - stores/redis/lua/single.lua
 * - algorithms/whole-number.lua
 * - stores/redis/lua/policy.lua
 * - stores/redis/lua/failure.lua
 * - stores/redis/lua/batch.lua
 */
export const batch: { readonly source: string; readonly sha1: string } = {
  sha1: '0e59f85d0c36dffaa7b8b5802194979d71026584',
  source: `local kinds, algorithms = string.match(ARGV[1], "^%a+"), {}
local MOST_UNITS = 4503599627370496
local function encode_pair(instant_ms, field)
  if field < 1000000 then
    return string.format("%d%06d", instant_ms, field)
  end
  return string.format("%d:%d", instant_ms, field)
end
local function decode_pair(text)
  local instant_ms, field = string.match(text, "^(%d+)(%d%d%d%d%d%d)$")
  if not instant_ms then
    instant_ms, field = string.match(text, "^(%d+):(%d+)$")
  end
  instant_ms, field = tonumber(instant_ms), tonumber(field)
  if not instant_ms or instant_ms > 9007199254740991 or field > 9007199254740991 then
    error("not an instant and a whole number")
  end
  return instant_ms, field
end
if kinds == "f" or #kinds > 1 and string.find(kinds, "f", 1, true) then
local fixed_window = { kind = "f", arity = 4, decide = false }
function fixed_window.decide(policy, text, cost, now_ms, _, _, count)
  local limit = policy[1]
  if cost > limit then
    return false
  end
  local end_ms, used
  if text then
    end_ms, used = decode_pair(text)
  end
  local is_live = text and now_ms < end_ms
  if not is_live then
    end_ms, used = now_ms + policy[2], 0
    if policy[3] == 1 then
      end_ms = (math.floor(now_ms / policy[2]) + 1) * policy[2]
    end
  end
  if used + cost > limit then
    return false
  end
  local fitting = 1
  if count then
    fitting = math.min(math.floor((limit - used) / cost), count)
  end
  return encode_pair(end_ms, used + fitting * cost), end_ms, fitting, is_live
end
algorithms.f = fixed_window
end
if kinds == "i" or #kinds > 1 and string.find(kinds, "i", 1, true) then
local interval_bucket = { kind = "i", arity = 4, decide = false }
local function at_last_boundary(policy, text, now_ms)
  local refill, every_ms = policy[2], policy[3]
  local boundary_ms, missing = decode_pair(text)
  local periods = math.max(math.floor((now_ms - boundary_ms) / every_ms), 0)
  if periods >= math.ceil(missing / refill) then
    return now_ms, 0
  end
  return boundary_ms + periods * every_ms, missing - periods * refill
end
local function write_missing(policy, boundary_ms, missing)
  return encode_pair(boundary_ms, missing), boundary_ms + math.ceil(missing / policy[2]) * policy[3]
end
function interval_bucket.decide(policy, text, cost, now_ms, _, _, count)
  local capacity, overdraft = policy[1], policy[4]
  local needed = cost
  if overdraft > 0 then
    needed = math.max(1, cost - overdraft)
  end
  if needed > capacity then
    return false
  end
  local boundary_ms, missing = now_ms, 0
  if text then
    boundary_ms, missing = at_last_boundary(policy, text, now_ms)
  end
  if needed + missing > capacity then
    return false
  end
  local fitting = 1
  if count then
    fitting = math.min(math.floor((capacity - missing - needed) / cost) + 1, count)
  end
  local after, reset_at_ms = write_missing(policy, boundary_ms, missing + fitting * cost)
  return after, reset_at_ms, fitting
end
algorithms.i = interval_bucket
end
if kinds == "p" or #kinds > 1 and string.find(kinds, "p", 1, true) then
local leaky_bucket = { kind = "p", arity = 4, decide = false }
local LONGEST_LINE = 4503599627370496
local function write_end(free_at_ms, part)
  local reset_at_ms = free_at_ms
  if part > 0 then
    reset_at_ms = free_at_ms + 1
  end
  return encode_pair(free_at_ms, part), reset_at_ms
end
local function write_line(now_ms, ahead, p)
  return write_end(now_ms + math.floor(ahead / p), ahead % p)
end
local function line_ahead(policy, text, now_ms)
  local p = policy[2]
  local free_at_ms, part = decode_pair(text)
  return math.max((free_at_ms - now_ms) * p + math.min(part, p - 1), 0)
end
function leaky_bucket.decide(policy, text, cost, now_ms, _, _, count)
  local limit, p, q, tolerance = policy[1], policy[2], policy[3], policy[4]
  if cost > limit then
    return false
  end
  local ahead = 0
  if text then
    local free_at_ms, part = decode_pair(text)
    part = math.min(part, p - 1)
    if now_ms < free_at_ms - math.floor((tolerance - (cost - 1) * q - part) / p) then
      return false
    end
    ahead = line_ahead(policy, text, now_ms)
  end
  local fitting = 1
  if count then
    fitting = math.min(math.floor((tolerance - ahead - (cost - 1) * q) / (cost * q)) + 1, count)
  end
  local after, reset_at_ms = write_line(now_ms, ahead + fitting * cost * q, p)
  return after, reset_at_ms, fitting
end
algorithms.p = leaky_bucket
end
if kinds == "w" or #kinds > 1 and string.find(kinds, "w", 1, true) then
local function to_integer(digits)
  local value = digits and tonumber(digits)
  if not value or value > 9007199254740991 then
    error("not a whole number")
  end
  return value
end
local sliding_counter = { kind = "w", arity = 2, decide = false }
local function most_units(window_ms)
  return math.min(math.floor(9007199254740991 / window_ms), 999999999999999)
end
local function window_start(at_ms, window_ms)
  return math.floor(at_ms / window_ms) * window_ms
end
local function read_windows(window_ms, text)
  local last_ms, length_ms, current, previous = string.match(text, "^(%d+):(%d+):(%d+):(%d+)$")
  last_ms, length_ms, current, previous =
    to_integer(last_ms), to_integer(length_ms), to_integer(current), to_integer(previous)
  if length_ms == 0 then
    error("not a state of windows")
  end
  if length_ms ~= window_ms then
    return last_ms, current + previous, 0, false
  end
  return last_ms, current, previous, true
end
local function last_leave_ms(window_ms, last_ms, current)
  local windows = 1
  if current > 0 then
    windows = 2
  end
  return window_start(last_ms, window_ms) + windows * window_ms
end
local function write_windows(window_ms, last_ms, current, previous)
  return string.format("%d:%d:%d:%d", last_ms, window_ms, current, previous), last_leave_ms(window_ms, last_ms, current)
end
local function windows_at(window_ms, text, now_ms)
  local last_ms, current, previous, same_length = read_windows(window_ms, text)
  local at_ms = math.max(now_ms, last_ms)
  local start_ms = window_start(at_ms, window_ms)
  local passed = (start_ms - window_start(last_ms, window_ms)) / window_ms
  if passed == 1 then
    current, previous = 0, current
  elseif passed > 1 then
    current, previous = 0, 0
  end
  local goes_on = same_length and passed == 0
  return at_ms, current, math.min(previous, most_units(window_ms)), start_ms + window_ms - at_ms, goes_on
end
function sliding_counter.decide(policy, text, cost, now_ms, _, _, count)
  local limit, window_ms = policy[1], policy[2]
  if cost > limit then
    return false
  end
  if not text then
    local fitting = count and math.min(math.floor(limit / cost), count) or 1
    local after, ends_at_ms = write_windows(window_ms, now_ms, fitting * cost, 0)
    return after, ends_at_ms, fitting
  end
  local at_ms, current, previous, reach_ms, goes_on = windows_at(window_ms, text, now_ms)
  if cost > limit - current or previous * reach_ms > (limit - current - cost) * window_ms then
    return false
  end
  local fitting = 1
  if count then
    local free = limit - current - math.ceil(previous * reach_ms / window_ms)
    fitting = math.min(math.floor(free / cost), count)
  end
  local after, ends_at_ms = write_windows(window_ms, at_ms, current + fitting * cost, previous)
  return after, ends_at_ms, fitting, goes_on and current > 0
end
algorithms.w = sliding_counter
end
if kinds == "s" or #kinds > 1 and string.find(kinds, "s", 1, true) then
local function to_integer(digits)
  local value = digits and tonumber(digits)
  if not value or value > 9007199254740991 then
    error("not a whole number")
  end
  return value
end
local sliding_window = { kind = "s", arity = 3, decide = false }
local function read_blocks(policy, text)
  local last_ms, block_ms, blocks, sum, newest, older = string.match(text, "^(%d+):(%d+):(%d+):(%d+):(%d+)([:%d]*)$")
  last_ms, sum, newest = to_integer(last_ms), to_integer(sum), to_integer(newest)
  if string.find(older, "::", 1, true) or string.sub(older, -1) == ":" or to_integer(block_ms) == 0 then
    error("not a state of blocks")
  end
  if to_integer(block_ms) ~= policy[2] or to_integer(blocks) ~= policy[3] then
    return last_ms, sum, sum, "", false
  end
  return last_ms, sum, newest, older, true
end
local function block_start(at_ms, block_ms)
  return math.floor(at_ms / block_ms) * block_ms
end
local function write_blocks(policy, last_ms, sum, newest, older)
  local age = 0
  if newest == 0 then
    age = (#string.match(older, "^[:0]*") + 1) / 2
  end
  return string.format("%d:%d:%d:%d:%d%s", last_ms, policy[2], policy[3], sum, newest, older),
    block_start(last_ms, policy[2]) + (policy[3] + 1 - age) * policy[2]
end
local function newest_counts(text, room)
  local sum, kept, zeros = 0, "", ""
  for count in string.gmatch(text, "%d+") do
    if room <= 0 then
      break
    end
    room = room - 1
    if count == "0" then
      zeros = zeros .. ":0"
    else
      sum = sum + tonumber(count)
      kept = kept .. zeros .. ":" .. count
      zeros = ""
    end
  end
  return sum, kept
end
local function in_window(policy, now_ms, last_ms, newest, older)
  if now_ms >= last_ms + policy[3] * policy[2] then
    return 0, 0, ""
  end
  local left = math.floor((now_ms + 1 - block_start(last_ms, policy[2])) / policy[2])
  local used, kept = newest_counts(older, policy[3] - left)
  return used + newest, newest, kept
end
local function fitting_of(count, free, cost)
  return count and math.min(math.floor(free / cost), count) or 1
end
function sliding_window.decide(policy, text, cost, now_ms, _, _, count)
  local limit, block_ms = policy[1], policy[2]
  if cost > limit then
    return false
  end
  local last_ms, sum, newest, older, same_length, passed = now_ms, 0, 0, "", false, 0
  if text then
    last_ms, sum, newest, older, same_length = read_blocks(policy, text)
    passed = (block_start(math.max(now_ms, last_ms), block_ms) - block_start(last_ms, block_ms)) / block_ms
    if passed > 0 or now_ms % block_ms == block_ms - 1 then
      sum, newest, older = in_window(policy, now_ms, last_ms, newest, older)
    end
  end
  if sum + cost > limit then
    return false
  end
  if passed > 0 then
    older = sum > 0 and string.rep(":0", passed - 1) .. string.format(":%d%s", newest, older) or ""
    newest, same_length = 0, false
  end
  local fitting = fitting_of(count, limit - sum, cost)
  local units = fitting * cost
  last_ms = math.max(now_ms, last_ms)
  local after, ends_at_ms = write_blocks(policy, last_ms, sum + units, newest + units, older)
  return after, ends_at_ms, fitting, same_length and newest > 0
end
algorithms.s = sliding_window
end
if kinds == "t" or #kinds > 1 and string.find(kinds, "t", 1, true) then
local token_bucket = { kind = "t", arity = 4, decide = false }
local function write_debt(full_at_ms, part)
  local reset_at_ms = full_at_ms
  if part > 0 then
    reset_at_ms = full_at_ms + 1
  end
  return encode_pair(full_at_ms, part), reset_at_ms
end
function token_bucket.decide(policy, text, cost, now_ms, _, _, count)
  local capacity, p, q, overdraft = policy[1], policy[2], policy[3], policy[4]
  local needed = cost
  if overdraft > 0 then
    needed = math.max(1, cost - overdraft)
  end
  if needed > capacity then
    return false
  end
  local debt = 0
  if text then
    local full_at_ms, part = decode_pair(text)
    part = math.min(part, p - 1)
    if now_ms < full_at_ms - math.floor((capacity * q - needed * q - part) / p) then
      return false
    end
    debt = math.max((full_at_ms - now_ms) * p + part, 0)
  end
  local fitting = 1
  if count then
    fitting = math.min(math.floor((capacity * q - needed * q - debt) / (cost * q)) + 1, count)
  end
  debt = debt + fitting * cost * q
  local after, reset_at_ms = write_debt(now_ms + math.floor(debt / p), debt % p)
  return after, reset_at_ms, fitting
end
algorithms.t = token_bucket
end
local time = redis.call("TIME")
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local LATEST_MS = 9007199254740991
local single = false
if #kinds < #ARGV[1] then
  local only = algorithms[kinds] or algorithms[string.sub(kinds, 1, 1)]
  local kept_ms, a, b, c, d = string.match(ARGV[1], " (%S+) (%S+) ?(%S*) ?(%S*) ?(%S*)$")
  single = { tonumber(a), tonumber(b), tonumber(c), tonumber(d), algorithm = only, kept_ms = kept_ms }
  local value = redis.pcall("GET", KEYS[1])
  local readable, after, ends_at_ms, _, keeps_expiry = pcall(only.decide, single, value, 1, now_ms)
  if readable and (after or not value or type(value) == "string" and string.byte(value) ~= 45) then
    if after and value and keeps_expiry then
      redis.call("SET", KEYS[1], after, "KEEPTTL")
    elseif after then
      redis.call("SET", KEYS[1], after, "PXAT", string.format("%d", math.min(ends_at_ms + tonumber(kept_ms), LATEST_MS)))
    end
    local text = string.format("%d\\n", now_ms) .. (value or "")
    if #kinds > 1 then
      return { text, { after and "1" or "0", { after or value or "" } } }
    end
    return text
  end
end
local function to_integer(digits)
  local value = digits and tonumber(digits)
  if not value or value > 9007199254740991 then
    error("not a whole number")
  end
  return value
end
local at
local function read_policy()
  local algorithm = algorithms[ARGV[at]]
  local policy = { algorithm = algorithm }
  for k = 1, algorithm.arity do
    policy[k] = tonumber(ARGV[at + k])
  end
  at = at + 1 + algorithm.arity
  return policy
end
local function server_error_of(problem)
  if type(problem) == "table" then
    return problem.err
  end
  local is_text = type(problem) == "string"
  return is_text and (string.find(problem, "^%u+ ") or string.find(problem, "^@")) and problem or nil
end
at = 3
local limits = {}
if single then
  limits[1] = { count = 1, kept_ms = tonumber(single.kept_ms), keys = 1, single }
end
for i = 1, single and 0 or tonumber(ARGV[2]) do
  local limit = { count = tonumber(ARGV[at]), kept_ms = tonumber(ARGV[at + 1]), keys = tonumber(ARGV[at + 2]) }
  at = at + 3
  for j = 1, limit.count do
    limit[j] = read_policy()
  end
  limits[i] = limit
end
local is_checking = string.find(kinds, "C", 1, true)
local allowed_counts, values = {}, {}
local next_key_index = tonumber(ARGV[at])
local function decide(limit, text, cost, count)
  if limit.count == 1 then
    return limit[1].algorithm.decide(limit[1], text ~= "" and text, cost, now_ms, nil, nil, count)
  end
  local after, latest_ms, keeps_expiry = {}, 0, true
  local j, from = 1, 1
  while j <= limit.count do
    local policy, ending = limit[j], j < limit.count and string.find(text, " ", from, true)
    if not ending then
      ending = #text + 1
      if j < limit.count and text ~= "" then
        error("states of fewer policies")
      end
    end
    local before = ending > from and string.sub(text, from, ending - 1)
    local state, ends_at_ms, fitting, same_expiry = policy.algorithm.decide(policy, before, cost, now_ms, nil, nil, count)
    if not state then
      return false
    end
    after[j], keeps_expiry = state, keeps_expiry and same_expiry
    if ends_at_ms > latest_ms then
      latest_ms = ends_at_ms
    end
    j, from = j + 1, ending + 1
    if fitting < count then
      count = fitting
      if j > 2 then
        latest_ms, keeps_expiry, j, from = 0, true, 1, 1
      end
    end
  end
  return table.concat(after, " "), latest_ms, count, keeps_expiry
end
local function record_allowed(fitting)
  if is_checking then
    allowed_counts[#allowed_counts + 1] = string.format("%d", fitting)
  end
end
local function decide_runs(limit, text, key_index, is_blocked)
  if next_key_index ~= key_index and not is_blocked then
    local after, ends_at_ms, fitting, keeps_expiry = decide(limit, text, 1, 1)
    record_allowed(after and fitting or 0)
    return after, ends_at_ms, keeps_expiry
  elseif next_key_index ~= key_index then
    record_allowed(0)
  end
  local after, ends_at_ms, keeps_expiry = false, 0, true
  while next_key_index == key_index do
    local state, ends, fitting, same_expiry
    if not is_blocked then
      state, ends, fitting, same_expiry =
        decide(limit, after or text, tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
    end
    if state then
      after, ends_at_ms, keeps_expiry = state, ends, keeps_expiry and same_expiry
    end
    record_allowed(state and fitting or 0)
    at = at + 3
    next_key_index = tonumber(ARGV[at])
  end
  return after, ends_at_ms, keeps_expiry
end
local function decide_prefixed(limit, value, key_index)
  local blocked_until, denials, forgotten_at, states = 0, "", 0, value
  if string.byte(states) == 33 then
    blocked_until, states = string.match(states, "^!(%d+)!(.*)$")
    blocked_until = to_integer(blocked_until)
  end
  if string.byte(states) == 94 then
    local count, blocks
    denials, count, blocks, forgotten_at, states = string.match(states, "^(%^(%d+):(%d+):(%d+)%^)(.*)$")
    forgotten_at = to_integer(count) and to_integer(blocks) and to_integer(forgotten_at)
  end
  local after, ends_at_ms = decide_runs(limit, states, key_index, blocked_until > now_ms)
  if after and forgotten_at > now_ms then
    return denials .. after, math.max(ends_at_ms, forgotten_at), false
  end
  return after, ends_at_ms, false
end
local function is_line(value, after)
  return after or not value or not (string.byte(value) == 45 or string.find(value, "\\n", 1, true))
end
local function forget_allowed(from)
  for i = #allowed_counts, from, -1 do
    allowed_counts[i] = nil
  end
end
local function decide_value(limit, value, key_index)
  if type(value) == "table" then
    error(value)
  end
  local mark = value and string.byte(value)
  local decide_all = (mark == 33 or mark == 94) and decide_prefixed or decide_runs
  return decide_all(limit, value or "", key_index)
end
local key_index, before = 0, {}
for i = 1, #limits do
  local limit = limits[i]
  local policy, decide_single = limit[1], limit.count == 1 and not is_checking and limit[1].algorithm.decide
  for _ = 1, limit.keys do
    key_index = key_index + 1
    local value = redis.pcall("GET", KEYS[key_index])
    local readable, after, ends_at_ms, _, keeps_expiry
    local first = #allowed_counts + 1
    local is_usual = decide_single and next_key_index ~= key_index and (not value or type(value) == "string")
    local mark = is_usual and value and string.byte(value)
    if is_usual and mark ~= 33 and mark ~= 94 then
      readable, after, ends_at_ms, _, keeps_expiry = pcall(decide_single, policy, mark and value, 1, now_ms)
    else
      readable, after, ends_at_ms, keeps_expiry = pcall(decide_value, limit, value, key_index)
    end
    before[key_index] = value or ""
    if not readable or not is_line(value, after) then
      before[key_index] = "-" .. string.gsub(server_error_of(after) or "not a value of this layout", "\\n", " ")
      forget_allowed(first)
      while next_key_index == key_index do
        at = at + 3
        next_key_index = tonumber(ARGV[at])
      end
    elseif after and value and keeps_expiry then
      redis.call("SET", KEYS[key_index], after, "KEEPTTL")
    elseif after then
      local expire_at_ms = math.min(ends_at_ms + limit.kept_ms, LATEST_MS)
      redis.call("SET", KEYS[key_index], after, "PXAT", string.format("%d", expire_at_ms))
    end
    values[key_index] = is_checking and (after and readable and after or before[key_index])
  end
end
local text = string.format("%d\\n", now_ms) .. table.concat(before, "\\n")
if is_checking then
  return { text, { table.concat(allowed_counts, ","), values } }
end
return text`,
};
