--[[
shifted window: twin of kernel.ts.

policy  { limit, window_ms, shift_ms }
state   end_ms, used: as encode_pair writes them
]]
local shifted_window = { kind = "q", arity = 3 }

function shifted_window.decide(policy, text, cost, now_ms, _, _, count)
  local limit = policy[1]
  local end_ms, used
  if text then
    end_ms, used = decode_pair(text)
  end
  local is_live = text and now_ms < end_ms
  if not is_live then
    end_ms = (math.floor((now_ms - policy[3]) / policy[2]) + 1) * policy[2] + policy[3]
    used = 0
  end
  if cost > limit - used then
    return false
  end
  local fitting = 1
  if count then
    fitting = math.min(math.floor((limit - used) / cost), count)
  end
  return encode_pair(end_ms, used + fitting * cost), end_ms, fitting, is_live
end

function shifted_window.refund(_, text, cost, charged_until_ms, now_ms)
  local end_ms, used = decode_pair(text)
  if end_ms ~= (charged_until_ms or end_ms) or now_ms >= end_ms or used == 0 then
    return false
  end
  return encode_pair(end_ms, math.max(used - cost, 0)), end_ms
end

function shifted_window.charge(policy, text, cost, charged_until_ms, now_ms)
  local end_ms, used
  if text then
    end_ms, used = decode_pair(text)
  end
  if not text or now_ms >= end_ms then
    end_ms = (math.floor((now_ms - policy[3]) / policy[2]) + 1) * policy[2] + policy[3]
    used = 0
  end
  local used_after = math.min(used + cost, MOST_UNITS)
  if end_ms ~= (charged_until_ms or end_ms) or used_after <= used then
    return false
  end
  return encode_pair(end_ms, used_after), end_ms
end

function shifted_window.used(_, text, now_ms)
  local end_ms, used = decode_pair(text)
  return now_ms < end_ms and used or 0
end

function shifted_window.migrate(policy, units, now_ms, from, text)
  local end_ms = (math.floor((now_ms - policy[3]) / policy[2]) + 1) * policy[2] + policy[3]
  if from then
    end_ms = decode_pair(text)
  end
  return encode_pair(end_ms, units), end_ms
end

function shifted_window.reset_at_ms(_, text)
  return (decode_pair(text))
end
