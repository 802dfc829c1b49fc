-- Requests for units, each whole or not at all.
-- The text after `cost` units and the instant from which it is as if never used, or false.
local function decide(plan, text, cost)
  if plan.count == 1 then
    return plan[1].algorithm.decide(plan[1], text ~= "" and text, cost, now_ms)
  end
  local states, latest_ms = split(text, plan.count), 0
  for j = 1, plan.count do
    local after, over_at_ms = plan[j].algorithm.decide(plan[j], states[j] ~= "" and states[j], cost, now_ms)
    if not after then
      return false
    end
    states[j] = after
    latest_ms = math.max(latest_ms, over_at_ms)
  end
  return table.concat(states, " "), latest_ms
end

-- What the request in progress has changed: a table each of the key, and its text, reset_at_ms and plan before.
local undo

-- With escalation: per key that the request in progress was refused by the policies of, the plan that says so.
local refused

-- Whether the request is admitted, whether all its keys could be read, and whether the editions of all were known.
local function consume(upto)
  local allowed, readable, known = true, true, true
  undo = (has_details or upto - at > 3) and {} -- a single part has nothing to take back
  while at < upto do
    local key, plan, cost = tonumber(ARGV[at]), plans[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
    local holder = has_details and ARGV[at + 3]
    at = at + (has_details and 4 or 3)
    reading = key
    local text = texts[key] or read(key)
    readable = readable and not failed[key]
    if plan.version and not failed[key] then
      known = bring_over(key, plan) and known
      text = texts[key]
    end
    local is_open = known and readable and blocked_until_ms[key] <= now_ms
    allowed = allowed and is_open
    if has_details then
      if not failed[key] and (not plan.version or versions[key] == plan.version) then
        local after, over_at_ms, admits = decide_each(key, plan, text, cost, holder)
        if admits and cost > 0 then
          undo[#undo + 1] = { key, text, reset_at_ms[key], plan_of[key] }
          texts[key], reset_at_ms[key], plan_of[key] = after, over_at_ms, plan
        elseif not admits then
          allowed = false
          if plan.refusals and is_open then
            refused[key], refused.is_any = refused[key] or plan, true
          end
        end
      end
    -- What another key refuses, this one may refuse as well: then both count.
    elseif cost > 0 and (allowed or escalates and is_open) then
      local after, over_at_ms = decide(plan, text, cost)
      if after then
        if undo then
          undo[#undo + 1] = { key, text, reset_at_ms[key], plan_of[key] }
        end
        texts[key], reset_at_ms[key], plan_of[key] = after, over_at_ms, plan
      else
        allowed = false
        if plan.refusals then
          refused[key], refused.is_any = refused[key] or plan, true
        end
      end
    end
  end
  return allowed, readable, known
end

local function take_back()
  for i = undo and #undo or 0, 1, -1 do
    local key = undo[i][1]
    texts[key], reset_at_ms[key], plan_of[key] = undo[i][2], undo[i][3], undo[i][4]
  end
end
