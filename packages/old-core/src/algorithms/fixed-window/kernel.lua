--[[
fixed window: twin of kernel.ts. Change kernel.ts, this file and vectors.json in one commit.

policy  { limit, window_ms, clock_aligned (0 or 1), count_denied (0 or 1) }
state   end_ms, used: as encode_pair writes them
decide  the state after as many of `count` (nil: 1) equal requests of `cost` units as fit, the instant at which it
        ends, how many they are, and whether the state before ends at the same instant; false when none fits. Pure: no
        redis.call, no clock.
refund  the state after a refund of `cost` units, and that instant, or false when there is nothing to refund; without
        the charged window, of the newest units
charge  the state after `cost` more units are used, and that instant, or false when nothing changes; `text` is false
        for a key without a state; without the charged window, of units that are used now
used    the units that a state holds at now_ms
migrate the state in which `units`, above 0, are used, and the instant at which it ends; `from` is the policy
        before and `text` its state, if that policy is of this kind
]]
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
    -- written out, as in migrate: one more function costs time at every call
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
