--[[
Runs: equal requests for one key, one after another, of limits whose states stand in their values whole and know neither
editions nor escalation. The script for most requests: it decides many keys in one call, each by itself, and however many
equal requests in one step, with nothing made per request. The frame decides everything else; where both can, they
leave the same bytes, and the same expiry but for what docs/adr/0017-fast-paths.md says of KEEPTTL.

KEYS  per limit the keys that are asked for, each once
ARGV  those of alone.lua, or:
      what is needed: a letter per kind of algorithm, C for checking; number of limits
      per limit  number of policies, how long to keep a key that is over, number of its keys, then per policy the kind of its
                 algorithm and its numbers
      then, in the order of the keys, per run that is not a single request of cost 1: the key's place, the cost, and how many requests
value as that of frame.lua
reply the instant in ms, and in one text, a line per key, the values as they were before: empty when there was none, `-` and a
      message when it could not be read; when checking, then { how many of each run were admitted, of keys that could be read,
      value after per key... }
]]
at = 3
local limits = {}
if alone then
  limits[1] = { count = 1, kept_ms = tonumber(ARGV[3]), keys = 1, alone }
  at = 4 + alone.algorithm.arity
end
for i = 1, tonumber(ARGV[2]) do
  local limit = { count = tonumber(ARGV[at]), kept_ms = tonumber(ARGV[at + 1]), keys = tonumber(ARGV[at + 2]) }
  at = at + 3
  for j = 1, limit.count do
    limit[j] = read_policy()
  end
  limits[i] = limit
end

local is_checking = string.find(kinds, "C", 1, true)
local admitted, values = {}, {}
local place_of_run = tonumber(ARGV[at])

-- As many of `count` equal requests as every policy admits: the text after them, the instant it is over, how many, and
-- whether it is over when the text before was; or false.
local function decide(limit, text, cost, count)
  if limit.count == 1 then
    return limit[1].algorithm.decide(limit[1], text ~= "" and text, cost, now_ms, nil, nil, count)
  end
  local after, latest_ms, lasts = {}, 0, true
  local j, from = 1, 1
  while j <= limit.count do
    local policy, ending = limit[j], j < limit.count and string.find(text, " ", from, true)
    if not ending then
      ending = #text + 1 -- the last one's is all that is left: what holds more states than that is no state
      if j < limit.count and text ~= "" then
        error("states of fewer policies")
      end
    end
    local before = ending > from and string.sub(text, from, ending - 1)
    local state, over_at_ms, fitting, same_end = policy.algorithm.decide(policy, before, cost, now_ms, nil, nil, count)
    if not state then
      return false
    end
    after[j], lasts = state, lasts and same_end
    if over_at_ms > latest_ms then
      latest_ms = over_at_ms
    end
    j, from = j + 1, ending + 1
    if fitting < count then
      count = fitting
      if j > 2 then
        latest_ms, lasts, j, from = 0, true, 1, 1 -- those before admitted more
      end
    end
  end
  return table.concat(after, " "), latest_ms, count, lasts
end

local function note_admitted(fitting)
  if is_checking then
    admitted[#admitted + 1] = string.format("%d", fitting)
  end
end

-- All runs of a key: its text after them, the instant it is over, and whether it is over when the text before was; or
-- false.
local function decide_runs(limit, text, place, is_blocked)
  if place_of_run ~= place and not is_blocked then
    local after, over_at_ms, fitting, lasts = decide(limit, text, 1, 1)
    note_admitted(after and fitting or 0)
    return after, over_at_ms, lasts
  elseif place_of_run ~= place then
    note_admitted(0)
  end
  local after, over_at_ms, lasts = false, 0, true
  while place_of_run == place do
    local state, over, fitting, same_end
    if not is_blocked then
      state, over, fitting, same_end =
        decide(limit, after or text, tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
    end
    if state then
      after, over_at_ms, lasts = state, over, lasts and same_end
    end
    note_admitted(state and fitting or 0)
    at = at + 3
    place_of_run = tonumber(ARGV[at])
  end
  return after, over_at_ms, lasts
end

-- A key that is or was blocked, or whose refusals another limiter remembers: what stands before its states.
local function decide_marked(limit, value, place)
  local blocked_until, refusals, forgotten_at, states = 0, "", 0, value
  if string.byte(states) == 33 then -- !
    blocked_until, states = string.match(states, "^!(%d+)!(.*)$")
    blocked_until = to_integer(blocked_until)
  end
  if string.byte(states) == 94 then -- ^
    local count, blocks
    refusals, count, blocks, forgotten_at, states = string.match(states, "^(%^(%d+):(%d+):(%d+)%^)(.*)$")
    forgotten_at = to_integer(count) and to_integer(blocks) and to_integer(forgotten_at)
  end
  local after, over_at_ms = decide_runs(limit, states, place, blocked_until > now_ms)
  if after and forgotten_at > now_ms then
    return refusals .. after, math.max(over_at_ms, forgotten_at), false
  end
  return after, over_at_ms, false
end

local function decide_value(limit, value, place)
  if type(value) == "table" then
    error(value)
  end
  local mark = value and string.byte(value)
  local decide_all = (mark == 33 or mark == 94) and decide_marked or decide_runs -- ! or ^
  return decide_all(limit, value or "", place)
end

-- A value goes back as a line that says no failure. One that was decided by is such a line, and one that refused before it
-- was read may be anything.
local function is_line(value, after)
  return after or not value or not (string.byte(value) == 45 or string.find(value, "\n", 1, true)) -- -
end

local function forget_admitted(from)
  for i = #admitted, from, -1 do
    admitted[i] = nil
  end
end

local place, before = 0, {}
for i = 1, #limits do
  local limit = limits[i]
  local single, decide_single = limit[1], limit.count == 1 and not is_checking and limit[1].algorithm.decide
  for _ = 1, limit.keys do
    place = place + 1
    local value = redis.pcall("GET", KEYS[place])
    local readable, after, over_at_ms, _, lasts
    local first = #admitted + 1
    local is_usual = decide_single and place_of_run ~= place and (not value or type(value) == "string")
    local mark = is_usual and value and string.byte(value)
    if is_usual and mark ~= 33 and mark ~= 94 then -- ! and ^
      readable, after, over_at_ms, _, lasts = pcall(decide_single, single, mark and value, 1, now_ms)
    else
      readable, after, over_at_ms, lasts = pcall(decide_value, limit, value, place)
    end
    before[place] = value or ""
    if not readable or not is_line(value, after) then
      before[place] = "-" .. string.gsub(said_by_server(after) or "not a value of this layout", "\n", " ")
      forget_admitted(first)
      while place_of_run == place do
        at = at + 3
        place_of_run = tonumber(ARGV[at])
      end
    elseif after and value and lasts then
      redis.call("SET", KEYS[place], after, "KEEPTTL")
    elseif after then
      local expire_at_ms = math.min(over_at_ms + limit.kept_ms, LATEST_MS)
      redis.call("SET", KEYS[place], after, "PXAT", string.format("%d", expire_at_ms))
    end
    values[place] = is_checking and (after and readable and after or before[place])
  end
end

reply[2] = table.concat(before, "\n")
if is_checking then
  reply[3] = { table.concat(admitted, ","), values }
end
return reply
