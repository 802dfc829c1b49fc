--[[
The frame: decides a list of requests at one instant of the server's clock, each over the policies of one or several keys, each whole or not at all.
Reads each key once, writes each changed key once, and leaves the rule itself to the kernels above. Twin of evaluate.ts.

KEYS  every key the requests name, once
ARGV  checking (0 or 1), number of plans, number of requests, then
      per plan     number of policies, then per policy the kind of its algorithm and its numbers
      per request  what to do, the number of arguments that follow, and:
        consume    per part the key's and the plan's place, and the cost
        peek       per part the key's and the plan's place
        refund     key, plan, cost, then per policy the instant at which the charged window was over
        reset, unblock   key, plan
        block      key, plan, duration in ms
value [!<blocked until>!]<state> <state>...: one state per policy, empty for a policy without one
reply the instant in ms, then per key the value as it was: a string, nil when there was none, { message } when it could not be read;
      when checking, then { admitted (a digit per request), value after per key... }
]]
local time = redis.call("TIME")
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local LATEST_MS = 9007199254740991 -- 2^53 - 1
local checking = ARGV[1] == "1"
local reply = { now_ms }
local entries = {}
local reading -- the key whose value is being read: the one to blame when that fails

local plans = {}
local at = 4
for i = 1, tonumber(ARGV[2]) do
  local plan = {}
  local count = tonumber(ARGV[at])
  at = at + 1
  for j = 1, count do
    local algorithm = algorithms[ARGV[at]]
    local policy = {}
    for k = 1, algorithm.arity do
      policy[k] = tonumber(ARGV[at + k])
    end
    plan[j] = { algorithm, policy }
    at = at + 1 + algorithm.arity
  end
  plans[i] = plan
end

-- What is stored under a key: blocked_until_ms, states (text or false per policy), reset_at_ms (per state, as far as known), dirty, failed.
local function read(key, plan)
  local entry = entries[key]
  if entry then
    return entry
  end
  entry = { blocked_until_ms = 0, states = {}, reset_at_ms = {} }
  entries[key] = entry
  local value = redis.pcall("GET", KEYS[key])
  if type(value) == "table" then
    entry.failed = true
    reply[key + 1] = { value.err }
    return entry
  end
  reply[key + 1] = value
  local text = value or ""
  if string.byte(text) == 33 then -- !
    local ending = string.find(text, "!", 2, true)
    entry.blocked_until_ms = tonumber(string.sub(text, 2, ending - 1))
    text = string.sub(text, ending + 1)
  end
  local from = 1
  for j = 1, #plan do
    local ending = j < #plan and string.find(text, " ", from, true) or #text + 1
    entry.states[j] = ending > from and string.sub(text, from, ending - 1)
    from = ending + 1
  end
  return entry
end

local function write(key, entry)
  local plan, texts = entry.plan, {}
  local expire_at_ms = entry.blocked_until_ms
  for j = 1, #plan do
    local state = entry.states[j]
    texts[j] = state or ""
    if state then
      local reset_at_ms = entry.reset_at_ms[j] or plan[j][1].reset_at_ms(plan[j][2], state)
      expire_at_ms = math.max(expire_at_ms, reset_at_ms)
    end
  end
  local text = table.concat(texts, " ")
  if not string.find(text, "%d") then
    text = ""
  end
  if entry.blocked_until_ms > now_ms then
    text = string.format("!%d!%s", entry.blocked_until_ms, text)
  end
  entry.after = text
  if text == "" then
    redis.call("DEL", KEYS[key])
  else
    redis.call("SET", KEYS[key], text, "PXAT", string.format("%d", math.min(expire_at_ms, LATEST_MS)))
  end
end

-- What a request in progress has replaced: { entry, states before, reset_at_ms before, plan } each.
local undo = {}

local function consume(upto)
  local allowed = true
  while at < upto do
    local plan, cost = plans[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
    reading = tonumber(ARGV[at])
    at = at + 3
    local entry = read(reading, plan)
    allowed = allowed and not entry.failed and entry.blocked_until_ms <= now_ms
    if allowed and cost > 0 then
      local states, reset_at_ms = {}, {}
      undo[#undo + 1] = { entry, entry.states, entry.reset_at_ms, plan }
      for j = 1, #plan do
        states[j], reset_at_ms[j] = plan[j][1].decide(plan[j][2], entry.states[j] or nil, cost, now_ms)
        if not states[j] then
          allowed = false
          break
        end
      end
      entry.states, entry.reset_at_ms = states, reset_at_ms
    end
  end
  return allowed
end

local function keep()
  for i = 1, #undo do
    undo[i][1].dirty, undo[i][1].plan = true, undo[i][4]
  end
end

local function take_back()
  for i = #undo, 1, -1 do
    undo[i][1].states, undo[i][1].reset_at_ms = undo[i][2], undo[i][3]
  end
end

local function refund(entry, plan, cost)
  for j = 1, #plan do
    local state = entry.states[j]
    if state then
      local after, reset_at_ms = plan[j][1].refund(plan[j][2], state, cost, tonumber(ARGV[at + 2 + j]), now_ms)
      if after then
        entry.states[j], entry.reset_at_ms[j] = after ~= "" and after, reset_at_ms
        entry.dirty, entry.plan = true, plan
      end
    end
  end
end

local function edit(what)
  local plan, number = plans[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
  reading = tonumber(ARGV[at])
  local entry = read(reading, plan)
  if entry.failed then
    return
  elseif what == "refund" then
    return refund(entry, plan, number)
  elseif what == "block" then
    entry.blocked_until_ms = now_ms + number
  elseif what == "unblock" then
    entry.blocked_until_ms = 0
  else
    entry.states = {}
  end
  entry.dirty, entry.plan = true, plan
end

local function perform(what, upto)
  if what == "consume" then
    local allowed = consume(upto)
    if allowed then
      keep()
    end
    return allowed
  elseif what == "peek" then
    while at < upto do
      reading = tonumber(ARGV[at])
      read(reading, plans[tonumber(ARGV[at + 1])])
      at = at + 2
    end
    return false
  end
  edit(what)
  return false
end

local admitted = ""
for _ = 1, tonumber(ARGV[3]) do
  local what, upto = ARGV[at], at + 2 + tonumber(ARGV[at + 1])
  at = at + 2
  undo = {}
  local readable, allowed = pcall(perform, what, upto) -- an unreadable value fails this request, not its neighbours
  if not readable then
    entries[reading].failed = true
    reply[reading + 1] = { tostring(allowed) }
  end
  if not (readable and allowed) then
    take_back()
  end
  admitted = admitted .. ((readable and allowed) and "1" or "0")
  at = upto
end

local after = { admitted }
for key = 1, #KEYS do
  local entry = entries[key]
  if entry.dirty and not entry.failed then
    write(key, entry)
  end
  after[key + 1] = entry.after or reply[key + 1]
end
if checking then
  reply[#KEYS + 2] = after
end
return reply
