--[[
The batch script: decides most requests. One call decides many keys, each by itself, and equal requests for one key (a
run) in one step. It serves limits whose states are complete in their values and that have neither policy versions nor
escalation; the general script (general.lua) decides all others. Where both can decide, they write the same bytes and
the same expiry, except for KEEPTTL: see docs/adr/0017-fast-paths.md.

KEYS  per limit its keys, each once
ARGV  those of single.lua, or:
      a letter per kind of algorithm, and C for checking; number of limits
      per limit  number of policies, how long to keep a key after its state ends, number of its keys, then per policy
                 the kind of its algorithm and its numbers
      then, in the order of the keys, per run that is not a single request of cost 1: the index of its key, the cost,
      and the number of requests
value as in general.lua
reply one text (ADR 99): the instant in ms, and a line per key: its value before the call, empty for none, or `-` and a
      message for a value that cannot be read; when checking { that text, { how many requests of each run were allowed,
      for keys that can be read, { value after the call per key... } } }
]]
at = 3
local limits = {}
if single then
  limits[1] = { count = 1, kept_ms = tonumber(single.kept_ms), keys = 1, single }
end
for i = 1, single and 0 or tonumber(ARGV[2]) do
  local limit = { count = tonumber(ARGV[at]), kept_ms = tonumber(ARGV[at + 1]), keys = tonumber(ARGV[at + 2]) }
  at = at + 3
  for j = 1, limit.count do
    limit[j] = read_policy()
  end
  limits[i] = limit
end

local is_checking = string.find(kinds, "C", 1, true)
local allowed_counts, values = {}, {}
local next_key_index = tonumber(ARGV[at])

-- Decides as many of `count` equal requests as every policy allows. Returns the text after them, the instant at which
-- it ends, how many they are, and whether the text before ends at the same instant; or false.
local function decide(limit, text, cost, count)
  if limit.count == 1 then
    return limit[1].algorithm.decide(limit[1], text ~= "" and text, cost, now_ms, nil, nil, count)
  end
  local after, latest_ms, keeps_expiry = {}, 0, true
  local j, from = 1, 1
  while j <= limit.count do
    local policy, ending = limit[j], j < limit.count and string.find(text, " ", from, true)
    if not ending then
      ending = #text + 1 -- the last state is the rest of the text
      if j < limit.count and text ~= "" then
        error("states of fewer policies")
      end
    end
    local before = ending > from and string.sub(text, from, ending - 1)
    local state, ends_at_ms, fitting, same_expiry = policy.algorithm.decide(policy, before, cost, now_ms, nil, nil, count)
    if not state then
      return false
    end
    after[j], keeps_expiry = state, keeps_expiry and same_expiry
    if ends_at_ms > latest_ms then
      latest_ms = ends_at_ms
    end
    j, from = j + 1, ending + 1
    if fitting < count then
      count = fitting
      if j > 2 then
        latest_ms, keeps_expiry, j, from = 0, true, 1, 1 -- the policies before this one allowed more
      end
    end
  end
  return table.concat(after, " "), latest_ms, count, keeps_expiry
end

local function record_allowed(fitting)
  if is_checking then
    allowed_counts[#allowed_counts + 1] = string.format("%d", fitting)
  end
end

-- Decides all runs of a key. Returns its text after them, the instant at which it ends, and whether the text before
-- ends at the same instant; or false.
local function decide_runs(limit, text, key_index, is_blocked)
  if next_key_index ~= key_index and not is_blocked then
    local after, ends_at_ms, fitting, keeps_expiry = decide(limit, text, 1, 1)
    record_allowed(after and fitting or 0)
    return after, ends_at_ms, keeps_expiry
  elseif next_key_index ~= key_index then
    record_allowed(0)
  end
  local after, ends_at_ms, keeps_expiry = false, 0, true
  while next_key_index == key_index do
    local state, ends, fitting, same_expiry
    if not is_blocked then
      state, ends, fitting, same_expiry =
        decide(limit, after or text, tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
    end
    if state then
      after, ends_at_ms, keeps_expiry = state, ends, keeps_expiry and same_expiry
    end
    record_allowed(state and fitting or 0)
    at = at + 3
    next_key_index = tonumber(ARGV[at])
  end
  return after, ends_at_ms, keeps_expiry
end

-- Decides a key with a prefix before its states: a block, or denials that another limiter counts.
local function decide_prefixed(limit, value, key_index)
  local blocked_until, denials, forgotten_at, states = 0, "", 0, value
  if string.byte(states) == 33 then -- !
    blocked_until, states = string.match(states, "^!(%d+)!(.*)$")
    blocked_until = to_integer(blocked_until)
  end
  if string.byte(states) == 94 then -- ^
    local count, blocks
    denials, count, blocks, forgotten_at, states = string.match(states, "^(%^(%d+):(%d+):(%d+)%^)(.*)$")
    forgotten_at = to_integer(count) and to_integer(blocks) and to_integer(forgotten_at)
  end
  local after, ends_at_ms = decide_runs(limit, states, key_index, blocked_until > now_ms)
  if after and forgotten_at > now_ms then
    return denials .. after, math.max(ends_at_ms, forgotten_at), false
  end
  return after, ends_at_ms, false
end

-- Whether a value fits a line of the reply and does not look like a failure there. A value that a kernel has read
-- always does; one that was denied unread can hold anything.
local function is_line(value, after)
  return after or not value or not (string.byte(value) == 45 or string.find(value, "\n", 1, true)) -- -
end

local function forget_allowed(from)
  for i = #allowed_counts, from, -1 do
    allowed_counts[i] = nil
  end
end

local function decide_value(limit, value, key_index)
  if type(value) == "table" then
    error(value)
  end
  local mark = value and string.byte(value)
  local decide_all = (mark == 33 or mark == 94) and decide_prefixed or decide_runs -- ! or ^
  return decide_all(limit, value or "", key_index)
end

local key_index, before = 0, {}
for i = 1, #limits do
  local limit = limits[i]
  local policy, decide_single = limit[1], limit.count == 1 and not is_checking and limit[1].algorithm.decide
  for _ = 1, limit.keys do
    key_index = key_index + 1
    local value = redis.pcall("GET", KEYS[key_index])
    local readable, after, ends_at_ms, _, keeps_expiry
    local first = #allowed_counts + 1
    local is_usual = decide_single and next_key_index ~= key_index and (not value or type(value) == "string")
    local mark = is_usual and value and string.byte(value)
    -- The hot copy of decide_value: one request of cost 1, one policy, and nothing before its state.
    if is_usual and mark ~= 33 and mark ~= 94 then -- ! and ^
      readable, after, ends_at_ms, _, keeps_expiry = pcall(decide_single, policy, mark and value, 1, now_ms)
    else
      readable, after, ends_at_ms, keeps_expiry = pcall(decide_value, limit, value, key_index)
    end
    before[key_index] = value or ""
    if not readable or not is_line(value, after) then
      before[key_index] = "-" .. string.gsub(server_error_of(after) or "not a value of this layout", "\n", " ")
      forget_allowed(first)
      while next_key_index == key_index do
        at = at + 3
        next_key_index = tonumber(ARGV[at])
      end
    elseif after and value and keeps_expiry then
      redis.call("SET", KEYS[key_index], after, "KEEPTTL")
    elseif after then
      local expire_at_ms = math.min(ends_at_ms + limit.kept_ms, LATEST_MS)
      redis.call("SET", KEYS[key_index], after, "PXAT", string.format("%d", expire_at_ms))
    end
    values[key_index] = is_checking and (after and readable and after or before[key_index])
  end
end

local text = string.format("%d\n", now_ms) .. table.concat(before, "\n")
if is_checking then
  return { text, { table.concat(allowed_counts, ","), values } }
end
return text
