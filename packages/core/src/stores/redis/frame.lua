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
                   with D then the holder
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
local time = redis.call("TIME")
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local LATEST_MS = 9007199254740991 -- 2^53 - 1
local LARGEST_LIMIT = 999999999999999
local reply = { now_ms }

-- Per key: the states as text, until when it is blocked, when the states are over, and the plan that changed them:
-- a key without one is not written.
local texts, blocked_until_ms, reset_at_ms, plan_of = {}, {}, {}, {}
-- Per key, where something is remembered of refusals: their count, the blocks they led to, when that is forgotten.
local refusals = {}
local failed = {}
local reading -- the key whose value is being read: the one to blame when that fails

local plans = {}
local at = 4

-- Per key the places of its details in KEYS, and those that were opened, by the kind and the place of their policy.
local detail_keys, details = {}, {}
local has_details = string.find(ARGV[1], "D", 1, true)
local key_count = #KEYS
if has_details then
  key_count = key_count - tonumber(ARGV[4])
  for i = 1, tonumber(ARGV[4]) do
    local key, id = tonumber(ARGV[3 * i + 2]), ARGV[3 * i + 3] .. ARGV[3 * i + 4]
    detail_keys[key] = detail_keys[key] or {}
    detail_keys[key][id] = key_count + i
  end
  at = 5 + 3 * tonumber(ARGV[4])
end

local function read_policy()
  local algorithm = algorithms[ARGV[at]]
  local policy = { algorithm = algorithm }
  for k = 1, algorithm.arity do
    policy[k] = tonumber(ARGV[at + k])
  end
  at = at + 1 + algorithm.arity
  return policy
end

local has_editions = string.find(ARGV[1], "V", 1, true)

local function read_editions(plan)
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
    local is_read = carry_over == "k" or carry_over == "p"
    local earlier = is_read and read_policy() or {}
    earlier.carry_over = carry_over
    plan.earlier[earlier_version] = earlier
  end
end

local escalates = string.find(ARGV[1], "X", 1, true)

local function read_escalation(plan)
  local count = tonumber(ARGV[at])
  at = at + 1
  if count > 0 then
    plan.refusals, plan.decay_ms, plan.blocks_ms = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), {}
    for i = 1, count do
      plan.blocks_ms[i] = tonumber(ARGV[at + 1 + i])
    end
    at = at + 2 + count
  end
end

for i = 1, tonumber(ARGV[2]) do
  local plan = { count = tonumber(ARGV[at]), kept_ms = tonumber(ARGV[at + 1]) }
  at = at + 2
  if has_editions then
    read_editions(plan)
  end
  if escalates then
    read_escalation(plan)
  end
  for j = 1, plan.count do
    plan[j] = read_policy()
  end
  plans[i] = plan
end

-- The detail of the policy with place j under a key; nil for a policy whose states have none.
local function detail_of(key, policy, j, text)
  if not policy.algorithm.apart then
    return nil
  end
  local id = string.format("%s%d", policy.algorithm.kind, j)
  details[key] = details[key] or {}
  local detail = details[key][id] or policy.algorithm.open(detail_keys[key][id])
  details[key][id] = detail
  if not detail.text and string.find(text, "^%d+:?%d*$") then -- an outline, and no text of this call
    policy.algorithm.attach(detail, text, now_ms)
  end
  return detail
end

local function read(key)
  local value = redis.pcall("GET", KEYS[key])
  texts[key], blocked_until_ms[key] = "", 0
  if type(value) == "table" then
    failed[key] = true
    reply[key + 1] = { value.err }
    return ""
  end
  reply[key + 1] = value
  local first = value and string.byte(value)
  if first == 33 then -- !
    local instant, states = string.match(value, "^!(%d+)!(.*)$")
    blocked_until_ms[key] = to_integer(instant)
    value, first = states, string.byte(states)
  end
  if first == 94 then -- ^
    local count, blocks, forgotten_at, states = string.match(value, "^%^(%d+):(%d+):(%d+)%^(.*)$")
    refusals[key] = { to_integer(count), to_integer(blocks), to_integer(forgotten_at) }
    value = states
  end
  texts[key] = value or ""
  return texts[key]
end

-- The states in a text of several: one per policy, "" for none.
local function split(text, count)
  local states, from = {}, 1
  for j = 1, count do
    local ending = j < count and string.find(text, " ", from, true) or #text + 1
    states[j] = string.sub(text, from, ending - 1)
    from = ending + 1
  end
  return states
end

-- As decide, for each policy by itself, as far as they admit: what comes of the whole, the client works out from what is
-- noted here.
local function decide_each(key, plan, text, cost, holder)
  local states, latest_ms, allowed = split(text, plan.count), 0, true
  for j = 1, plan.count do
    local algorithm, state = plan[j].algorithm, states[j] ~= "" and states[j]
    local detail = detail_of(key, plan[j], j, states[j])
    if detail then
      algorithm.look(plan[j], state, cost, now_ms, detail, holder)
    end
    if cost > 0 then
      local after, over_at_ms = algorithm.decide(plan[j], state, cost, now_ms, detail, holder)
      allowed = allowed and after
      states[j] = after or states[j]
      latest_ms = math.max(latest_ms, over_at_ms or 0)
    end
  end
  return table.concat(states, " "), latest_ms, allowed
end

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

-- The instant from which the states in a text are over. Fails on what cannot be read.
local function over_at_ms(plan, text)
  local states, latest_ms = split(text, plan.count), 0
  for j = 1, plan.count do
    if states[j] ~= "" then
      latest_ms = math.max(latest_ms, plan[j].algorithm.reset_at_ms(plan[j], states[j]))
    end
  end
  return latest_ms
end

local count_refusals
if escalates then
  -- Counts a request that was refused, of the parts from here on, once for each key that refused it.
  function count_refusals(from, upto)
    for place = from, upto - 1, has_details and 4 or 3 do
      reading = tonumber(ARGV[place])
      over_at_ms(plans[tonumber(ARGV[place + 1])], texts[reading]) -- all of them, before any is counted
    end
    for place = from, upto - 1, has_details and 4 or 3 do
      local key = tonumber(ARGV[place])
      local plan = refused[key]
      if plan then
        refused[key] = nil
        local before = refusals[key]
        local count, blocks, forgotten_at_ms = 0, 0, 0
        if before and before[3] > now_ms then
          count, blocks, forgotten_at_ms = before[1], before[2], before[3]
        end
        count = count + 1
        local last_ms = now_ms
        blocked_until_ms[key] = 0
        if count >= plan.refusals then
          count, blocks = 0, blocks + 1
          last_ms = now_ms + plan.blocks_ms[math.min(blocks, #plan.blocks_ms)]
          blocked_until_ms[key] = last_ms
        end
        refusals[key] = { count, blocks, math.max(forgotten_at_ms, last_ms + plan.decay_ms) }
        reset_at_ms[key], plan_of[key] = over_at_ms(plan, texts[key]), plan
      end
    end
  end
end

local perform
if string.find(ARGV[1], "E", 1, true) then
  -- What is charged may be of a policy without a state; what is given back is not.
  local function settle(what, key, plan, cost)
    local states, changed = split(texts[key], plan.count), false
    for j = 1, plan.count do
      local until_ms, holder = tonumber(ARGV[at + 2 + j]), ARGV[at + 3 + plan.count]
      local algorithm, after = plan[j].algorithm, false
      local state, detail = states[j] ~= "" and states[j], detail_of(key, plan[j], j, states[j])
      if detail and state then
        algorithm.look(plan[j], state, 0, now_ms, detail)
      end
      if what == "refund" and state and until_ms > 0 then
        after = algorithm.refund(plan[j], state, cost, until_ms, now_ms, detail, holder)
      elseif what == "charge" and algorithm.charge and until_ms > 0 then
        after = algorithm.charge(plan[j], state, cost, until_ms, now_ms, detail)
      end
      changed = changed or after
      states[j] = after or states[j]
    end
    return changed and table.concat(states, " ")
  end

  -- Releases or renews the slots of a holder.
  local function hold(what, key, plan, cost, holder)
    local states, changed = split(texts[key], plan.count), false
    for j = 1, plan.count do
      local algorithm = plan[j].algorithm
      if algorithm.renew and states[j] ~= "" then
        local detail = detail_of(key, plan[j], j, states[j])
        local after
        if what == "renew" then
          after = algorithm.renew(plan[j], states[j], cost, now_ms, detail, holder)
        else
          after = algorithm.refund(plan[j], states[j], cost, 0, now_ms, detail, holder)
        end
        changed = changed or after
        states[j] = after or states[j]
      end
    end
    return changed and table.concat(states, " ")
  end

  function perform(what)
    local key, plan, number = tonumber(ARGV[at]), plans[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
    reading = key
    local after = texts[key] or read(key)
    if failed[key] then
      return
    end
    if plan.version then
      if not bring_over(key, plan) then
        return
      end
      after = texts[key]
    end
    over_at_ms(plan, after) -- fails on what cannot be read, so that no edit covers it up
    if what == "refund" or what == "charge" then
      after = settle(what, key, plan, number)
    elseif what == "release" or what == "renew" then
      after = hold(what, key, plan, number, ARGV[at + 3])
    elseif what == "block" then
      blocked_until_ms[key] = now_ms + number
    elseif what == "unblock" then
      blocked_until_ms[key], refusals[key] = 0, nil
    else
      after = ""
      local before = refusals[key]
      refusals[key] = before and before[2] > 0 and { 0, before[2], before[3] } or nil
    end
    if after then
      if not string.find(after, "%d") then
        after = ""
      end
      texts[key], reset_at_ms[key], plan_of[key] = after, over_at_ms(plan, after), plan
    end
  end
end

local admitted = {}
for i = 1, tonumber(ARGV[3]) do
  local what, upto = ARGV[at], at + 2 + tonumber(ARGV[at + 1])
  at = at + 2
  local readable, allowed = true, false -- an unreadable value fails its request, not the neighbours
  brought = has_editions and {}
  if what == "consume" or what == "peek" and has_details then
    local from = at
    local all_readable, all_known
    refused = escalates and {}
    readable, allowed, all_readable, all_known = pcall(consume, upto)
    allowed = allowed and what == "consume"
    if not (readable and allowed) then
      take_back()
    end
    if has_editions and not (readable and all_readable and what == "consume") then
      take_back_brought()
    end
    if escalates and readable and all_readable and all_known and refused.is_any and what == "consume" then
      readable = pcall(count_refusals, from, upto)
    end
  elseif what == "peek" then
    for place = at, upto - 1, 2 do
      reading = tonumber(ARGV[place])
      readable = texts[reading] or pcall(read, reading)
    end
  else
    readable = pcall(perform, what)
  end
  if not readable then
    failed[reading] = true
    reply[reading + 1] = { "not a value of this layout" }
  end
  admitted[i] = readable and allowed and "1" or "0"
  at = upto
end

-- The value as it was, its outlines with what the requests asked about.
local function with_details(key, value)
  local before, states = "", value
  for _, prefix in ipairs({ "^!%d+!", "^%^[%d:]+%^", has_editions and "^%d+;" or "^!" }) do
    local _, ending = string.find(states, prefix)
    before, states = before .. string.sub(states, 1, ending or 0), string.sub(states, (ending or 0) + 1)
  end
  local shown, j = {}, 0
  for state in string.gmatch(states .. " ", "([^ ]*) ") do
    j = j + 1
    shown[j] = state
  end
  for id, detail in pairs(details[key]) do
    if detail.text then
      shown[tonumber(string.sub(id, 2))] = algorithms[string.sub(id, 1, 1)].shown(detail, now_ms)
    end
  end
  return before .. table.concat(shown, " ")
end

-- Writes the details of a key, and answers its text with nothing but outlines.
local function save_details(key, expire_at_ms)
  local plan = plan_of[key]
  local text = texts[key]
  local states, saved = split(text, plan.count), {}
  for j = 1, plan.count do
    local algorithm = plan[j].algorithm
    local id = string.format("%s%d", algorithm.kind, j)
    if algorithm.apart and states[j] ~= "" then
      local place = detail_keys[key][id]
      saved[id] = true
      local detail = details[key] and details[key][id]
      if detail and detail.text ~= states[j] then -- else it is as it was
        states[j] = algorithm.save(detail, states[j], now_ms)
      end
      redis.call("PEXPIREAT", KEYS[place], string.format("%d", expire_at_ms))
    end
  end
  for id, place in pairs(detail_keys[key]) do
    if not saved[id] then
      redis.call("DEL", KEYS[place])
    end
  end
  return text ~= "" and table.concat(states, " ") or ""
end

for key = 1, key_count do
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

if string.find(ARGV[1], "C", 1, true) then
  local after = { table.concat(admitted) }
  for key = 1, key_count do
    after[key + 1] = plan_of[key] and not failed[key] and texts[key] or reply[key + 1]
  end
  reply[key_count + 2] = after
end
return reply
