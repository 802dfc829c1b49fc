--[[
fixed window: twin of kernel.ts. Change kernel.ts, this file and vectors.json in one commit.

policy  { limit, window_ms, clock_aligned (0 or 1) }
state   end_ms, used: as encode_pair writes them
decide  the state after `cost` units and the instant it is over, or false. Pure: no redis.call, no clock.
refund  the state after they are given back, and that instant, or false when there is nothing to give back
]]
local fixed_window = { kind = "f", arity = 3 }

function fixed_window.decide(policy, text, cost, now_ms)
  local limit, window_ms = policy[1], policy[2]
  if cost > limit then
    return false
  end
  local end_ms, used
  if text then
    end_ms, used = decode_pair(text)
  end
  if not text or now_ms >= end_ms then
    end_ms, used = now_ms + window_ms, 0
    if policy[3] == 1 then
      end_ms = (math.floor(now_ms / window_ms) + 1) * window_ms
    end
  end
  if used + cost > limit then
    return false
  end
  return encode_pair(end_ms, used + cost), end_ms
end

function fixed_window.refund(_, text, cost, charged_until_ms, now_ms)
  local end_ms, used = decode_pair(text)
  if end_ms ~= charged_until_ms or now_ms >= end_ms or used == 0 then
    return false
  end
  return encode_pair(end_ms, math.max(used - cost, 0)), end_ms
end

function fixed_window.reset_at_ms(_, text)
  return (decode_pair(text))
end
