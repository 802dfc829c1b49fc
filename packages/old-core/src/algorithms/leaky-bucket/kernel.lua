--[[
leaky bucket: twin of kernel.ts. Change kernel.ts, this file and vectors.json in one commit.

policy  { limit, p, q, tolerance }: p units per q ms, in lowest terms; the longest wait in 1/p ms, and the units that
        can be had at once: floor(tolerance / q) + 1
state   free_at_ms, part: as encode_pair writes them; the next start is free at free_at_ms + part/p
decide  the state after as many of `count` (nil: 1) equal requests of `cost` units as fit, the instant at which it
        ends, and how many they are; false when none fits. Pure: no redis.call, no clock.
refund  the state after a refund of `cost` units ("" when the line is empty), and that instant, or false when there is
        nothing to refund; without the charged end, of whatever stands at the end
charge  the state after `cost` more units are used, even above the limit, and that instant, or false when nothing
        changes; `text` may be false
used    the units that a state holds at now_ms
migrate the state in which `units`, above 0, are used, and the instant at which it ends; `from` is the policy
        before and `text` its state, if that policy is of this kind
]]
local leaky_bucket = { kind = "p", arity = 4 }

local LONGEST_LINE = 4503599627370496 -- 2^52

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

-- Returns the length of the line, in 1/p ms.
local function line_ahead(policy, text, now_ms)
  local p = policy[2]
  local free_at_ms, part = decode_pair(text)
  return math.max((free_at_ms - now_ms) * p + math.min(part, p - 1), 0) -- p may have been larger when it was written
end

-- Returns the most units, and the part of a unit, that an allowed request leaves in the line.
local function most_units(policy)
  return math.ceil(policy[4] / policy[3]) + 1
end

function leaky_bucket.decide(policy, text, cost, now_ms, _, _, count)
  local limit, p, q, tolerance = policy[1], policy[2], policy[3], policy[4]
  if cost > limit then -- asked first: cost * q could overflow
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
  if count then -- the longest wait bounds what fits, and so the products
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
