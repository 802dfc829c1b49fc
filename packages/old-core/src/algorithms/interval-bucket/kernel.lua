--[[
interval bucket: twin of kernel.ts. Change kernel.ts, this file and vectors.json in one commit.

policy  { capacity, refill, every_ms, overdraft }
state   boundary_ms, missing: as encode_pair writes them; what was missing from a full bucket at its last boundary
decide  the state after as many of `count` (nil: 1) equal requests of `cost` units as fit, the instant at which it
        ends, and how many they are; false when none fits. Pure: no redis.call, no clock.
refund  the state after a refund of `cost` units ("" when the bucket is full), and that instant, or false when there
        is nothing to refund
charge  the state after `cost` more units are used, and that instant, or false when nothing changes; `text` is false
        for a key without a state
used    the units that a state holds at now_ms
migrate the state in which `units`, above 0, are used, and the instant at which it ends; `from` is the policy
        before and `text` its state, if that policy is of this kind
]]
local interval_bucket = { kind = "i", arity = 4 }

-- Moves the boundary by the whole periods that have passed. A full bucket misses nothing.
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
