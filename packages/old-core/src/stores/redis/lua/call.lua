-- The plans of a call, and what is known of each key during the call.

-- Per key: the text of its states, until when it is blocked, when its states end, and the plan that changed them. A
-- key that no plan changed is not written.
local texts, blocked_until_ms, reset_at_ms, plan_of = {}, {}, {}, {}
-- Per key with counted denials: their count, the number of blocks so far, and when both are forgotten.
local denials = {}
local failed = {}
local reply = { now_ms }
local reading -- the key whose value is being read: a failure is reported for this key

local plans = {}
at = 4

-- Per key the indexes in KEYS of its external states, and those that are open, by the kind and the number of their
-- policy.
local external_keys, external_states = {}, {}
local has_external = string.find(kinds, "D", 1, true)
local has_identities = string.find(kinds, "I", 1, true)
local key_count = #KEYS
if has_identities then
  key_count, at = key_count - tonumber(ARGV[at]), at + 1
end
local identity_keys_from, has_repeated = key_count, false -- whether any refund was performed by an earlier call
if has_external then
  local count = tonumber(ARGV[at])
  key_count = key_count - count
  for i = 1, count do
    local key, id = tonumber(ARGV[at + 1]), ARGV[at + 2] .. ARGV[at + 3]
    external_keys[key] = external_keys[key] or {}
    external_keys[key][id] = key_count + i
    at = at + 3
  end
  at = at + 1
end

local has_versions = string.find(kinds, "V", 1, true)

local function read_versions(plan)
  local version, count = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  at = at + 1
  if version == 0 then
    return
  end
  plan.version, plan.earlier = version, {}
  at = at + 1
  for _ = 1, count do
    local earlier_version, carry_over = tonumber(ARGV[at]), ARGV[at + 1]
    at = at + 2
    local earlier = carry_over == "k" and read_policy() or {}
    earlier.carry_over = carry_over
    plan.earlier[earlier_version] = earlier
  end
end

local escalates = string.find(kinds, "X", 1, true)
local counts_denied = string.find(kinds, "N", 1, true)

local function read_escalation(plan)
  local count = tonumber(ARGV[at])
  at = at + 1
  if count > 0 then
    plan.denials, plan.decay_ms, plan.blocks_ms = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), {}
    for i = 1, count do
      plan.blocks_ms[i] = tonumber(ARGV[at + 1 + i])
    end
    at = at + 2 + count
  end
end

for i = 1, tonumber(ARGV[2]) do
  local plan = { count = tonumber(ARGV[at]), kept_ms = tonumber(ARGV[at + 1]) }
  at = at + 2
  if has_versions then
    read_versions(plan)
  end
  if escalates then
    read_escalation(plan)
  end
  for j = 1, plan.count do
    plan[j] = read_policy()
  end
  plans[i] = plan
end
