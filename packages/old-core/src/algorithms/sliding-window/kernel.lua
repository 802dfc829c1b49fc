--[[
sliding window: twin of kernel.ts. Change kernel.ts, this file and vectors.json in one commit.

policy  { limit, block_ms, blocks }: the current block and `blocks` before it count
state   last_ms:block_ms:blocks:sum:count:count...: the latest instant, in the newest block, at which units were
        consumed, then the counts, newest first, the last never 0
        The units of a block leave a window after its last instant: last_ms of the newest, the last ms of any other.
decide  the state after as many of `count` (nil: 1) equal requests of `cost` units as fit, an instant at which it has
        ended (that at which its youngest block has, so that a block expires as a whole), how many they are, and whether
        that of the state before is the same; false when none fits. Pure: no redis.call, no clock.
refund  the state after a refund of `cost` units ("" when nothing is left), and that instant, or false when there is
        nothing to refund; without the charged window, of the newest units
charge  the state after `cost` more units are used, and that instant, or false when nothing changes; `text` is false
        for a key without a state; without the charged window, of units that are used now
used    the units that a state holds at now_ms
migrate the state in which `units`, above 0, are used, and the instant at which it ends; `from` is the policy
        before and `text` its state, if that policy is of this kind
]]
local sliding_window = { kind = "s", arity = 3 }

-- A state of another window length counts with all its units at its last instant, so that no unit comes back too
-- early. Fails on a text that write_blocks does not write.
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
    age = (#string.match(older, "^[:0]*") + 1) / 2 -- ":0:0:5": two more blocks without units
  end
  return string.format("%d:%d:%d:%d:%d%s", last_ms, policy[2], policy[3], sum, newest, older),
    block_start(last_ms, policy[2]) + (policy[3] + 1 - age) * policy[2]
end

-- Returns at most `room` of the counts in `text`, as text without trailing zeros, and their sum.
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

-- Returns the units that are still in the window, those of its newest block, and the older counts as text.
local function in_window(policy, now_ms, last_ms, newest, older)
  if now_ms >= last_ms + policy[3] * policy[2] then
    return 0, 0, ""
  end
  local left = math.floor((now_ms + 1 - block_start(last_ms, policy[2])) / policy[2])
  local used, kept = newest_counts(older, policy[3] - left)
  return used + newest, newest, kept
end

-- Returns how many of `count` fit when at least one does.
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
  -- A clock that steps back does not lead into earlier blocks.
  last_ms = math.max(now_ms, last_ms)
  local after, ends_at_ms = write_blocks(policy, last_ms, sum + units, newest + units, older)
  return after, ends_at_ms, fitting, same_length and newest > 0
end

-- Returns the units of a state that are still in the window, their counts as text, and the instant of the newest.
local function live_counts(policy, text, now_ms)
  local last_ms, _, newest, older = read_blocks(policy, text)
  local used, first, rest = in_window(policy, now_ms, last_ms, newest, older)
  return used, string.format("%d%s", first, rest), last_ms
end

-- The age of the block that was charged a window before this instant, counted from the newest one.
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
