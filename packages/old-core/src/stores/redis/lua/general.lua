--[[
The general script: decides a list of requests at one instant of the server's clock. A request covers the policies of
one or several keys and is consumed whole or not at all. The script reads each key once and writes each changed key
once; the kernels before it decide. Twin of evaluate.ts.

KEYS  every key of the requests, once; then the keys of external states; then those of the identities of refunds
ARGV  a letter per kind of algorithm, and E for edits, V for policy versions, X for escalation, N for policies that
      count what they deny, D for external states, I for identities, C for checking; number of plans; number of requests;
      with I the number of identities; with D the number of external states, and per external
      state the index of its key, the kind of its algorithm, and the number of its policy
      per plan     number of policies, how long to keep a key after its states end; then:
                   with V its version, or 0 without policy versions; after a version (such a plan has one policy) the
                   number of earlier versions, and per earlier version the version, and `u` (unknown), `r` (reset), or
                   `k` (keep) with the kind of its algorithm and its numbers;
                   with X the number of block lengths, or 0 without blocks; else also the denials until a block, the
                   time after which they are forgotten, and the lengths;
                   per policy the kind of its algorithm and its numbers
      per request  the operation, the number of arguments that follow, and:
        consume    per part the index of its key, the number of its plan, and the cost; with D also the holder
        peek       per part the index of its key and the number of its plan; with D as consume
        refund, charge   key, plan, cost, then per policy the instant at which the charged window ends, 0 to leave the
                   policy alone, or -1 where no window is known: a refund of the newest units, a charge of units that
                   are used now; with D then the holder; a refund then, with I the number of its identity, and, if it
                   has one, the instant from which it has no effect
        release, renew   key, plan, cost, holder: slots
        reset, unblock   key, plan
        heal       key, plan, the instant from which it has no effect
        block      key, plan, duration in ms, and 1 for a reset in the same step, else 0
value [!<blocked until>!][^<denials>:<blocks>:<forgotten at>^][<version>;]<state> <state>...: one state per policy,
      empty for a policy without one; the policy version that wrote them, if the limit has versions; the counted denials
      (denial-count.ts), if there are any; for an external state its summary
reply the instant in ms, then per key the value before the call, with the selected part of its external states: a
      string, nil for none, or { message } for a value that cannot be read; when checking, then { allowed (a digit per
      request; `repeated` if a refund was performed by an earlier call), value after the call per key... }
]]
local allowed_flags = {}
for i = 1, tonumber(ARGV[3]) do
  local op, upto = ARGV[at], at + 2 + tonumber(ARGV[at + 1])
  at = at + 2
  local readable, allowed, problem = true, false, nil -- an unreadable value fails its own request only
  migrated = has_versions and {}
  if op == "consume" or op == "peek" and has_external then
    local from = at
    local all_readable, all_known
    denied, denied_costs = escalates and {}, counts_denied and {}
    readable, allowed, all_readable, all_known = pcall(consume, upto)
    problem, allowed = allowed, readable and allowed and op == "consume"
    if not (readable and allowed) then
      undo_request()
    end
    if has_versions and not (readable and all_readable and op == "consume") then
      undo_migrations()
    end
    if counts_denied and readable and all_readable and all_known and #denied_costs > 0 and op == "consume" then
      readable, problem = pcall(add_denied_costs, from, upto)
    end
    if escalates and readable and all_readable and all_known and denied.is_any and op == "consume" then
      readable, problem = pcall(count_denials, from, upto)
    end
  elseif op == "peek" then
    for part_at = at, upto - 1, 2 do
      if readable then
        reading = tonumber(ARGV[part_at])
        readable = texts[reading] or pcall(read, reading)
      end
    end
  else
    readable, problem = pcall(perform, op, upto)
  end
  if not readable then
    failed[reading] = true
    reply[reading + 1] = { server_error_of(problem) or "not a value of this layout" }
  end
  allowed_flags[i] = readable and allowed and "1" or "0"
  at = upto
end

for key = 1, key_count do
  if reply[key + 1] == nil then
    reply[key + 1] = false -- never read: its request failed at an earlier key. A reply ends at the first nil
  end
  if external_states[key] and type(reply[key + 1]) == "string" and not failed[key] then
    reply[key + 1] = project_external(key, reply[key + 1])
  end
  if plan_of[key] and not failed[key] then
    local expire_at_ms, remembered = reset_at_ms[key], denials[key]
    if remembered and remembered[3] > now_ms then
      expire_at_ms = math.max(expire_at_ms, remembered[3])
    end
    if blocked_until_ms[key] > now_ms then
      expire_at_ms = math.max(expire_at_ms, blocked_until_ms[key])
    end
    expire_at_ms = math.min(expire_at_ms + plan_of[key].kept_ms, LATEST_MS)
    if external_keys[key] then
      texts[key] = save_external(key, expire_at_ms)
    end
    local value = texts[key]
    if versions[key] and value ~= "" then
      value = string.format("%d;%s", versions[key], value)
    end
    if remembered and remembered[3] > now_ms then
      value = string.format("^%d:%d:%d^%s", remembered[1], remembered[2], remembered[3], value)
    end
    if blocked_until_ms[key] > now_ms then
      value = string.format("!%d!%s", blocked_until_ms[key], value)
    end
    if value == "" then
      redis.call("DEL", KEYS[key])
    else
      redis.call("SET", KEYS[key], value, "PXAT", string.format("%d", expire_at_ms))
    end
    texts[key] = value
  end
end

if string.find(kinds, "C", 1, true) then
  local after = { has_repeated and "repeated" or table.concat(allowed_flags) }
  for key = 1, key_count do
    after[key + 1] = plan_of[key] and not failed[key] and texts[key] or reply[key + 1]
  end
  reply[key_count + 2] = after
end
return reply
