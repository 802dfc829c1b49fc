-- Requests for units. A request is consumed whole or not at all.

-- With policies that count what they deny: what they denied of the request in progress, each the key, the plan, the
-- number of the policy, and the cost.
local denied_costs

local function keep_denied_cost(key, plan, j, cost)
  local counts = plan[j].algorithm.counts_denied
  if counts and counts(plan[j]) then
    denied_costs[#denied_costs + 1] = { key, plan, j, cost }
  end
end

-- Returns the text after `cost` units and the instant at which it ends, or false. With external states every policy
-- decides, also after one that denies: each selects what the client needs in the reply to decide again. So does every
-- policy where some count what they deny.
local function decide(key, plan, text, cost, holder, is_open)
  local all_decide = has_external or counts_denied
  if plan.count == 1 and not all_decide then
    return plan[1].algorithm.decide(plan[1], text ~= "" and text, cost, now_ms)
  end
  local states, latest_ms, allowed = split(text, plan.count), 0, true
  for j = 1, plan.count do
    local algorithm, state = plan[j].algorithm, states[j] ~= "" and states[j]
    local external = has_external and external_state_of(key, plan[j], j, states[j])
    if external then
      algorithm.select(plan[j], state, cost, now_ms, external, holder)
    end
    if cost > 0 then
      local after, ends_at_ms = algorithm.decide(plan[j], state, cost, now_ms, external, holder)
      if not after and not all_decide then
        return false
      elseif not after and counts_denied and is_open then
        keep_denied_cost(key, plan, j, cost)
      end
      allowed = allowed and after
      states[j] = after or states[j]
      latest_ms = math.max(latest_ms, ends_at_ms or 0)
    end
  end
  return allowed and table.concat(states, " "), latest_ms
end

-- The changes of the request in progress: per change the key, and its text, reset_at_ms and plan before.
local undo

-- With escalation: per key whose policies denied the request in progress, the plan of those policies.
local denied

-- Returns whether the request is allowed, whether all its keys can be read, and whether the policy versions of all
-- are known.
local function consume(upto)
  local allowed, readable, known = true, true, true
  undo = (has_external or upto - at > 3) and {} -- a single part has nothing to undo
  while at < upto do
    local key, plan, cost = tonumber(ARGV[at]), plans[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
    local holder = has_external and ARGV[at + 3]
    at = at + (has_external and 4 or 3)
    reading = key
    local text = text_of(key, plan)
    readable = readable and not failed[key]
    if plan.version and not failed[key] then
      known = migrate(key, plan) and known
      text = texts[key]
    end
    local is_open = known and readable and blocked_until_ms[key] <= now_ms
    allowed = allowed and is_open
    local decides
    if has_external then
      decides = not failed[key] and (not plan.version or versions[key] == plan.version)
    else
      -- Several keys can deny one request: the denial counts for each of them.
      decides = cost > 0 and (allowed or (escalates or counts_denied) and is_open)
    end
    if decides then
      local after, ends_at_ms = decide(key, plan, text, cost, holder, is_open)
      if not after then
        allowed = false
        if plan.denials and is_open then
          denied[key], denied.is_any = denied[key] or plan, true
        end
      elseif cost > 0 then
        if undo then
          undo[#undo + 1] = { key, text, reset_at_ms[key], plan_of[key] }
        end
        texts[key], reset_at_ms[key], plan_of[key] = after, ends_at_ms, plan
      end
    end
  end
  return allowed, readable, known
end

local function undo_request()
  for i = undo and #undo or 0, 1, -1 do
    local key = undo[i][1]
    texts[key], reset_at_ms[key], plan_of[key] = undo[i][2], undo[i][3], undo[i][4]
  end
end

-- Fails on a state of the request that cannot be read. Its parts begin at the argument `from`.
local function read_states(from, upto)
  for part_at = from, upto - 1, has_external and 4 or 3 do
    reading = tonumber(ARGV[part_at])
    end_of(plans[tonumber(ARGV[part_at + 1])], texts[reading])
  end
end
