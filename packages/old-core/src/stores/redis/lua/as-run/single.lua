-- Written by scripts/build/build-lua.mjs: one request for one key of sliding-window, as Redis runs it. Do not edit: edit lua/single.lua
-- and sliding-window/kernel.lua. The script that is sent has the other kernels too, lua/batch.lua behind this, and no comments.
local kinds, algorithms = string.match(ARGV[1], "^%a+"), {}
--[[
The layout of most states: an instant in ms and one more integer. Twin of instant-and-field.ts.
]]
local MOST_UNITS = 4503599627370496 -- 2^52: as in numbers.ts

local function encode_pair(instant_ms, field)
  if field < 1000000 then
    return string.format("%d%06d", instant_ms, field)
  end
  return string.format("%d:%d", instant_ms, field)
end

-- Fails on a text that encode_pair does not write. Calls no function of this script: most decisions read one state,
-- and making and calling a function is a measurable part of their cost.
local function decode_pair(text)
  local instant_ms, field = string.match(text, "^(%d+)(%d%d%d%d%d%d)$") -- 19 digits do not fit a double
  if not instant_ms then
    instant_ms, field = string.match(text, "^(%d+):(%d+)$")
  end
  instant_ms, field = tonumber(instant_ms), tonumber(field)
  if not instant_ms or instant_ms > 9007199254740991 or field > 9007199254740991 then -- 2^53 - 1
    error("not an instant and a whole number")
  end
  return instant_ms, field
end
if kinds == "s" or #kinds > 1 and string.find(kinds, "s", 1, true) then
  --[[
  Numbers in values: digits, and no more of them than are exact. Twin of toInteger in instant-and-field.ts.
  ]]
  -- Returns digits as a number; fails on anything else, and on more than is exact.
  local function to_integer(digits)
    local value = digits and tonumber(digits)
    if not value or value > 9007199254740991 then -- 2^53 - 1
      error("not a whole number")
    end
    return value
  end
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
  local sliding_window = { kind = "s", arity = 3, decide = false }

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

  algorithms.s = sliding_window
end
-- The clock: the whole call is decided at one instant.
local time = redis.call("TIME")
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local LATEST_MS = 9007199254740991 -- 2^53 - 1
--[[
The usual call: one request of cost 1 for one key of one policy, decided before anything is made that only several
keys need. batch.lua decides it the same way. When the value cannot be read as one state alone, this part writes
nothing, and batch.lua reads the value again.

The script begins with `kinds` (the letters of ARGV[1]) and the table `algorithms`; then come instant-and-field.lua, the
kernel.lua of each algorithm that kinds names, which adds itself to the table, clock.lua (now_ms, LATEST_MS), this
file, and batch.lua. scripts/build/lua-parts.mjs lists the parts.

ARGV  one text (ADR 99), with spaces between: the letter of the algorithm, and C for checking; how long to keep the key
      after its state ends; the numbers of the policy
]]
local single = false
if #kinds < #ARGV[1] then
  local only = algorithms[kinds] or algorithms[string.sub(kinds, 1, 1)]
  -- No kernel here has more numbers. They are written out because a table that grows costs more.
  local kept_ms, a, b, c, d = string.match(ARGV[1], " (%S+) (%S+) ?(%S*) ?(%S*) ?(%S*)$")
  single = { tonumber(a), tonumber(b), tonumber(c), tonumber(d), algorithm = only, kept_ms = kept_ms }
  local value = redis.pcall("GET", KEYS[1])
  local readable, after, ends_at_ms, _, keeps_expiry = pcall(only.decide, single, value, 1, now_ms)
  -- A limit of 0 denies before the value is read: it may be an error, or look like a failure in the reply.
  if readable and (after or not value or type(value) == "string" and string.byte(value) ~= 45) then -- -
    if after and value and keeps_expiry then
      redis.call("SET", KEYS[1], after, "KEEPTTL")
    elseif after then
      redis.call("SET", KEYS[1], after, "PXAT", string.format("%d", math.min(ends_at_ms + tonumber(kept_ms), LATEST_MS)))
    end
    local text = string.format("%d\n", now_ms) .. (value or "")
    if #kinds > 1 then
      return { text, { after and "1" or "0", { after or value or "" } } }
    end
    return text
  end
end
