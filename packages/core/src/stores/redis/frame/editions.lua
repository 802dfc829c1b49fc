-- Editions: states that another version of a managed policy wrote. Twin of carry-over.ts.
-- Per key the version of the edition that wrote its states, where there are editions.
local versions = {}
-- What the request in progress has brought over: a table each of the key, and its text, reset_at_ms, plan and version
-- before.
local brought

local bring_over
if has_editions then
  -- The units of a state of another edition that go over into this one.
  local function units_over(policy, earlier, text, detail)
    if earlier.carry_over == "r" then
      return 0
    elseif earlier.carry_over == "u" then
      return policy[1]
    end
    if detail then
      earlier.algorithm.look(earlier, text, 0, now_ms, detail)
    end
    local used = earlier.algorithm.used(earlier, text, now_ms, detail)
    if earlier.carry_over == "p" then
      return math.min(math.ceil(used * policy[1] / earlier[1]), LARGEST_LIMIT)
    end
    return used
  end

  -- Brings the state of a key into this plan's edition; false when it is of one that the plan does not know.
  function bring_over(key, plan)
    local text = texts[key]
    if text == "" then
      versions[key] = plan.version
    elseif not versions[key] then
      local version, states = string.match(text, "^(%d+);(.+)$")
      versions[key], text = to_integer(version), states
      texts[key] = states
    end
    local version = versions[key]
    if version == plan.version then
      return true
    end
    local earlier = plan.earlier[version]
    if not earlier then
      return false
    end
    brought[#brought + 1] = { key, text, reset_at_ms[key], plan_of[key], version }
    local found = earlier.algorithm and detail_of(key, earlier, 1, text)
    local policy, units, after, over_at_ms = plan[1], units_over(plan[1], earlier, text, found), "", 0
    if units > 0 then
      local from = earlier.algorithm == policy.algorithm and earlier
      local detail = detail_of(key, policy, 1, "")
      after, over_at_ms = policy.algorithm.carry(policy, units, now_ms, from, text, detail)
    end
    texts[key], reset_at_ms[key], plan_of[key], versions[key] = after, over_at_ms, plan, plan.version
    return true
  end
end

local function take_back_brought()
  for i = #brought, 1, -1 do
    local key = brought[i][1]
    texts[key], reset_at_ms[key], plan_of[key], versions[key] =
      brought[i][2], brought[i][3], brought[i][4], brought[i][5]
  end
end
