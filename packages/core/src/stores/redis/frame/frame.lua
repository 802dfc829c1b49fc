--[[
The frame: decides a list of requests at one instant of the server's clock, each over the policies of one or several
keys, each whole or not at all. Reads each key once, writes each changed key once, and leaves the rule itself to the
kernels above. Twin of evaluate.ts.

KEYS  every key the requests name, once; then the details: keys of their own for long states
ARGV  what is needed: a letter per kind of algorithm, E for edits, V for editions, X for escalation, D for details, C for
      checking; number of plans; number of requests; with D the number of details, and per detail its key's place, the kind
      of its algorithm, and the place of its policy
      per plan     number of policies, how long to keep a key that is over; with V its version, 0 where it has no
                   editions, else (then it has one policy) the number of earlier editions, and per earlier one its version
                   and `u` where nobody knows it any more, `r` (reset), or `k` (keep) or `p` (in proportion) with the kind
                   of its algorithm and its numbers; with X the number of lengths of blocks, 0 where refusals lead to none,
                   else also refusals until a block, after how long they are forgotten, and the lengths; then per policy the kind of its algorithm and its numbers
      per request  what to do, the number of arguments that follow, and:
        consume    per part the key's and the plan's place, and the cost; with D also the holder
        peek       per part the key's and the plan's place; with D as consume
        refund, charge   key, plan, cost, then per policy the instant at which the charged window was over, 0 to leave it alone;
                   with D then the holder; a refund then, where it has one, the instant from which on nothing is given back
        release, renew   key, plan, cost, holder: what is held in slots
        reset, unblock   key, plan
        block      key, plan, duration in ms
value [!<blocked until>!][^<refusals>:<blocks>:<forgotten at>^][<version>;]<state> <state>...: one state per policy, empty
      for a policy without one; the version of the edition that wrote them, where there are editions; what is remembered of
      refusals (escalation.ts), where there is something; of a long state an outline, whose detail says the rest
reply the instant in ms, then per key the value as it was, its outlines with as much of their details as the requests ask
      for: a string, nil when there was none, { message } when it could not be read; when checking, then { admitted (a digit
      per request), value after per key... }
]]
local admitted = {}
for i = 1, tonumber(ARGV[3]) do
  local what, upto = ARGV[at], at + 2 + tonumber(ARGV[at + 1])
  at = at + 2
  local readable, allowed, problem = true, false, nil -- an unreadable value fails its request, not the neighbours
  brought = has_editions and {}
  if what == "consume" or what == "peek" and has_details then
    local from = at
    local all_readable, all_known
    refused = escalates and {}
    readable, allowed, all_readable, all_known = pcall(consume, upto)
    problem, allowed = allowed, readable and allowed and what == "consume"
    if not (readable and allowed) then
      take_back()
    end
    if has_editions and not (readable and all_readable and what == "consume") then
      take_back_brought()
    end
    if escalates and readable and all_readable and all_known and refused.is_any and what == "consume" then
      readable, problem = pcall(count_refusals, from, upto)
    end
  elseif what == "peek" then
    for place = at, upto - 1, 2 do
      if readable then
        reading = tonumber(ARGV[place])
        readable = texts[reading] or pcall(read, reading)
      end
    end
  else
    readable, problem = pcall(perform, what, upto)
  end
  if not readable then
    failed[reading] = true
    reply[reading + 1] = { said_by_server(problem) or "not a value of this layout" }
  end
  admitted[i] = readable and allowed and "1" or "0"
  at = upto
end

for key = 1, key_count do
  if reply[key + 1] == nil then
    reply[key + 1] = false -- never read: its request failed at a key before it, and a reply ends at the first nil
  end
  if details[key] and type(reply[key + 1]) == "string" and not failed[key] then
    reply[key + 1] = with_details(key, reply[key + 1])
  end
  if plan_of[key] and not failed[key] then
    local expire_at_ms, remembered = reset_at_ms[key], refusals[key]
    if remembered and remembered[3] > now_ms then
      expire_at_ms = math.max(expire_at_ms, remembered[3])
    end
    if blocked_until_ms[key] > now_ms then
      expire_at_ms = math.max(expire_at_ms, blocked_until_ms[key])
    end
    expire_at_ms = math.min(expire_at_ms + plan_of[key].kept_ms, LATEST_MS)
    if detail_keys[key] then
      texts[key] = save_details(key, expire_at_ms)
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
  local after = { table.concat(admitted) }
  for key = 1, key_count do
    after[key + 1] = plan_of[key] and not failed[key] and texts[key] or reply[key + 1]
  end
  reply[key_count + 2] = after
end
return reply
