-- Policy versions: migrates states that another version of a managed policy wrote. Twin of migrate-state.ts.
-- Per key the policy version that wrote its states, for limits with policy versions.
local versions = {}
-- The migrations of the request in progress: per migration the key, and its text, reset_at_ms, plan and version
-- before.
local migrated

local migrate
if has_versions then
  -- Returns the units of a state of another policy version that count in this one.
  local function units_to_migrate(policy, earlier, text, external)
    if earlier.carry_over == "r" then
      return 0
    elseif earlier.carry_over == "u" then
      return policy[1]
    end
    if external then
      earlier.algorithm.select(earlier, text, 0, now_ms, external)
    end
    return earlier.algorithm.used(earlier, text, now_ms, external)
  end

  -- Migrates the state of a key to this plan's policy version; returns false when the plan does not know its version.
  function migrate(key, plan)
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
    migrated[#migrated + 1] = { key, text, reset_at_ms[key], plan_of[key], version }
    local found = earlier.algorithm and external_state_of(key, earlier, 1, text)
    local policy, units, after, ends_at_ms = plan[1], units_to_migrate(plan[1], earlier, text, found), "", 0
    if units > 0 then
      local from = earlier.algorithm == policy.algorithm and earlier
      local external = external_state_of(key, policy, 1, "")
      after, ends_at_ms = policy.algorithm.migrate(policy, units, now_ms, from, text, external)
    end
    texts[key], reset_at_ms[key], plan_of[key], versions[key] = after, ends_at_ms, plan, plan.version
    return true
  end
end

local function undo_migrations()
  for i = #migrated, 1, -1 do
    local key = migrated[i][1]
    texts[key], reset_at_ms[key], plan_of[key], versions[key] =
      migrated[i][2], migrated[i][3], migrated[i][4], migrated[i][5]
  end
end
