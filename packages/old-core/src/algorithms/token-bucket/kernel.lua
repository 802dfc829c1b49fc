--[[
token bucket: twin of kernel.ts. Change kernel.ts, this file and vectors.json in one commit.

policy  { capacity, p, q, overdraft }: refill is p units per q ms, in lowest terms
state   full_at_ms, part: as encode_pair writes them; the bucket is full again at full_at_ms + part/p
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
  if needed > capacity then -- asked first: needed * q could overflow
    return false
  end
  local debt = 0 -- in 1/p ms: nothing is ever rounded
  if text then
    local full_at_ms, part = decode_pair(text)
    part = math.min(part, p - 1) -- p may have been larger when it was written
    if now_ms < full_at_ms - math.floor((capacity * q - needed * q - part) / p) then
      return false
    end
    debt = math.max((full_at_ms - now_ms) * p + part, 0)
  end
  local fitting = 1
  if count then -- the deepest debt bounds what fits, and so the products
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
