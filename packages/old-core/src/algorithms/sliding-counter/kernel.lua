--[[
sliding counter: twin of kernel.ts. Change kernel.ts, this file and vectors.json in one commit.

policy  { limit, window_ms }: windows lie on the clock
state   last_ms:window_ms:current:previous: the latest instant, in the newer window, at which units were consumed,
        then the units of that window and of the one before
decide  the state after as many of `count` (nil: 1) equal requests of `cost` units as fit, the instant at which it
        ends, how many they are, and whether the state before ends at the same instant; false when none fits. Pure: no
        redis.call, no clock.
refund  the state after a refund of `cost` units ("" when nothing is left), and that instant, or false when there is
        nothing to refund; without the charged window, of the newest units
charge  the state after `cost` more units are used, and that instant, or false when nothing changes; `text` is false
        for a key without a state; without the charged window, of units that are used now
used    the units that a state holds at now_ms
migrate the state in which `units`, above 0, are used, and the instant at which it ends; `from` is the policy
        before and `text` its state, if that policy is of this kind
]]
local sliding_counter = { kind = "w", arity = 2 }

-- Returns the most units of a window that can be weighed: their product with the window is exact.
local function most_units(window_ms)
  return math.min(math.floor(9007199254740991 / window_ms), 999999999999999)
end

local function window_start(at_ms, window_ms)
  return math.floor(at_ms / window_ms) * window_ms
end

-- A state of another window length counts with all its units at its last instant, so that no unit comes back too
-- early. Fails on a text that write_windows does not write.
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

-- Returns when the youngest units leave: a window after the end of theirs.
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

-- Returns the instant that counts (never before the last units, also after the clock steps back), the units of the
-- window at that instant and of the window before, how many ms of the window before still count, and whether the
-- window at that instant is the newer one of the state.
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

-- Returns 0 when the current window is the one that stops counting at the given future instant, 1 when the previous
-- one is.
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
