-- Made by scripts/build/print-program.mjs from packages/core/src/program: change it there.
local function numbers_isWithin(x, min, max)
  return x >= min and x <= max
end

local function counter_isCounted(length, units)
  return numbers_isWithin(length, 1, 4398046511104) and numbers_isWithin(units, 0, 4503599627370496) and length * units <= 9007199254740991
end

local function counter_reads(s)
  if #s ~= 3 and #s ~= 6 then
    return false
  end
  if not numbers_isWithin(s[1], 0, 9007199254740991) or not counter_isCounted(s[2], s[3]) then
    return false
  end
  return #s == 3 or (numbers_isWithin(s[4], 1, 9007199254740991) and counter_isCounted(s[5], s[6]))
end

-- What still counts at t of units that decrease until they are gone.
local function counter_counted(units, decrease, goneAt, t)
  return math.ceil((units * math.min(math.max(goneAt - t, 0), decrease)) / decrease)
end

-- When the units of the latest window are gone.
local function counter_latestGone(s)
  return s[1] + 2 * s[2]
end

local function counter_before(s, t)
  return (#s == 6 and counter_counted(s[6], s[5], s[1] + s[4], t) or 0)
end

local function counter_used(_p, s, t)
  return (#s == 0 and 0 or counter_counted(s[3], s[2], counter_latestGone(s), t) + counter_before(s, t))
end

-- From when at most `room` of units count that decrease until they are gone.
local function counter_countedFrom(units, decrease, goneAt, room)
  return (units <= room and 0 or goneAt - math.floor((room * decrease) / units))
end

local function counter_freeAt(p, s, units, t)
  local room = p[1] - units
  if counter_used(p, s, t) <= room then
    return t
  end
  local end_ = s[1] + s[2]
  local beforeGone = (#s == 6 and s[1] + s[4] or t)
  if s[3] <= room and #s == 6 then
    local at = counter_countedFrom(s[6], s[5], beforeGone, room - s[3])
    if at <= end_ then
      return at
    end
  end
  local at = counter_countedFrom(s[3], s[2], counter_latestGone(s), room)
  if at >= beforeGone then
    return at
  end
  local low = t
  at = math.max(counter_latestGone(s), beforeGone)
  while low + 1 < at do
    local middle = math.floor((low + at) / 2)
    if counter_used(p, s, middle) <= room then
      at = middle
    else
      low = middle
    end
  end
  return at
end

local function counter_endsAt(s)
  local latest = (s[3] > 0 and counter_latestGone(s) or 0)
  return ((#s == 6 and s[6] > 0) and math.max(latest, s[1] + s[4]) or latest)
end

local function counter_emptyAt(_p, s)
  return counter_endsAt(s)
end

-- The window whose units are gone at `until` is charged, while it still counts.
local function counter_addUntil(s, units, until_)
  if until_ == counter_latestGone(s) then
    s[3] = math.min(s[3] + units, 4503599627370496, math.floor(9007199254740991 / s[2]))
  elseif #s == 6 and until_ == s[1] + s[4] then
    s[6] = math.min(s[6] + units, 4503599627370496, math.floor(9007199254740991 / s[5]))
  end
  return s
end

local function counter_add(p, s, units, until_, t)
  local sum = counter_used(p, s, t)
  if until_ > 0 then
    return ((sum == 0 or t >= until_) and s or counter_addUntil(s, units, until_))
  end
  local more = math.min(units, p[6] - sum)
  if more <= 0 then
    return s
  end
  local start = t - (t % p[5])
  if sum == 0 then
    return { start, p[5], more }
  end
  local isOpen = t < s[1] + s[2]
  if isOpen and p[5] <= s[2] then
    s[3] = s[3] + math.min(more, math.max(math.floor(9007199254740991 / s[2]) - s[3], 0))
    return s
  end
  local after = { start, p[5], (isOpen and math.min(s[3] + more, p[6]) or more) }
  local goneAt = (#s == 6 and s[1] + s[4] or 0)
  local decrease = (#s == 6 and s[5] or s[2])
  local count = ((#s == 6 and t < goneAt) and s[6] or 0)
  if not isOpen and t < counter_latestGone(s) then
    decrease = (count > 0 and math.min(decrease, s[2]) or s[2])
    goneAt = math.max(goneAt, counter_latestGone(s))
    count = count + s[3]
  end
  if count > 0 then
    after[#after + 1] = goneAt - start
    after[#after + 1] = decrease
    after[#after + 1] = math.min(count, math.floor(9007199254740991 / decrease))
  end
  return after
end

-- The state of a key that is as if never used.
local function numbers_unused()
  return {}
end

local function counter_give(p, s, units, until_, t)
  if counter_used(p, s, t) == 0 or (until_ > 0 and t >= until_) then
    return s
  end
  local rest = units
  if t < counter_latestGone(s) and (until_ == 0 or until_ == counter_latestGone(s)) then
    local given = math.min(s[3], rest)
    s[3] = s[3] - given
    rest = rest - given
  end
  if #s == 6 and (until_ == 0 or until_ == s[1] + s[4]) then
    s[6] = math.max(s[6] - rest, 0)
  end
  return (counter_used(p, s, t) == 0 and numbers_unused() or s)
end

-- A block that has ended is not written.
local function decide_write(part, now)
  part.changed = true
  if part.blocked <= now then
    part.blocked = 0
  end
end

-- Sets the instant at which a state is read. A state that was written later than now was written by a clock that ran
-- ahead: it is read as of its write, and all its instants move back by the difference as soon as it may be written.
local function decide_read(part, op, now)
  part.t = now
  if #part.s > 0 and part.s[1] > now then
    if op == 1 then
      part.t = part.s[1]
    else
      part.s[1] = now
      decide_write(part, now)
    end
  end
end

-- In how many ms a key allows its part of a request: 0 now, -1 never.
local function decide_waitFor(part, now)
  local blocked = math.max(part.blocked - now, 0)
  if part.cost == 0 then
    return blocked
  end
  local needed = (part.p[2] > 0 and math.max(part.cost - part.p[2], 1) or part.cost)
  if needed > part.p[1] then
    return -1
  end
  return math.max(counter_freeAt(part.p, part.s, needed, part.t, part.holder) - part.t, blocked)
end

-- Takes from all parts if all of them allow it, or from none.
local function decide_decide(parts, op, now)
  local allowed = true
  for i = 0, #parts - 1 do
    local part = parts[i + 1]
    decide_read(part, op, now)
    part.wait = decide_waitFor(part, now)
    part.allowed = part.wait == 0
    part.delay = 0
    if part.wait ~= 0 then
      allowed = false
    elseif part.p[4] == 1 and #part.s > 0 and part.cost > 0 then
      part.delay = math.max(counter_emptyAt(part.p, part.s) - part.t, 0)
    end
    if part.wait > 0 and op == 0 and part.blocked <= now and part.p[3] > 0 then
      part.blocked = now + part.p[3]
      part.wait = math.max(part.wait, part.p[3])
      decide_write(part, now)
    end
  end
  if allowed then
    for i = 0, #parts - 1 do
      local part = parts[i + 1]
      if op ~= 1 and part.cost > 0 then
        part.s = counter_add(part.p, part.s, part.cost, 0, now, part.holder)
        decide_write(part, now)
      end
    end
  end
  return allowed
end

-- Edits one key, which is written only if it has something of this kind, or gets it. `until` is when the units leave that
-- are given back or charged, or for how many ms a block lasts: 0 ends it. A block with a cost resets the key, too.
local function decide_change(part, op, until_, now)
  decide_read(part, op, now)
  local hadState = #part.s > 0
  if op == 3 and #part.s > 0 then
    part.s = counter_give(part.p, part.s, part.cost, until_, now, part.holder)
  end
  if op == 4 then
    part.s = counter_add(part.p, part.s, part.cost, until_, now, part.holder)
  end
  if op == 5 or (op == 6 and part.cost > 0) then
    part.s = numbers_unused()
  end
  if op == 6 then
    part.blocked = (until_ > 0 and now + until_ or 0)
  end
  part.wait = 0
  part.delay = 0
  part.allowed = true
  if op == 7 then
    local after = counter_add(part.p, part.s, part.cost, 1, now, part.holder)
    part.allowed = after ~= part.s
    part.s = after
  end
  if #part.s > 0 or hadState or op == 5 or op == 6 then
    decide_write(part, now)
  end
end

local counter = {
  reads = counter_reads,
  freeAt = counter_freeAt,
  emptyAt = counter_emptyAt,
  endsAt = counter_endsAt,
  add = counter_add,
  give = counter_give,
}
local families = { c = counter }

local tells_figures, decide_figures = false, nil
-- KEYS     the keys of the requests, one after the other: a key that several requests name stands there several times
-- ARGV[1]  the letter of each policy's kind
-- ARGV[2]  JSON: the numbers of each policy; the kinds of requests: op, until, and for each part the index of its policy,
--          its cost and its holder; then runs of requests: the index of the kind, how often each is asked, and how many
-- ARGV[3]  only in tests: the instant
-- reply    the instant, then the values that each request found, a line each: the caller runs the program on them. "!"
--          stands for a value that is no state. Where `tells_figures`, the figures of each request instead.
-- A value is the letter of its kind, 1 for this format, and whole numbers with commas between. If the key is blocked, the
-- first is the negative instant until which it is; the others are the state. A state of another kind counts as none.
local now = tonumber(ARGV[3])
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local call = cjson.decode(ARGV[2])
local policies, requests, runs = call[1], call[2], call[3]
local parts, reply, key = {}, { now }, 0
local BLOCK = 6
-- A value is kept for half a minute to a minute after its state ends: most writes leave the instant as it is.
local SPAN, LATEST = 30000, 9007199254680991

for i = 1, #runs, 3 do
  local request, keys = requests[runs[i]], 0
  local op = request[1]
  for j = 3, #request, 3 do
    local kind = string.sub(ARGV[1], request[j], request[j])
    keys = keys + 1
    parts[keys] = {
      kind = kind, f = families[kind], p = policies[request[j]], cost = request[j + 1], holder = request[j + 2],
      s = false, blocked = 0, t = now, allowed = true, wait = 0, delay = 0, changed = false, kept = false, other = false, others = false,
    }
  end
  for j = #parts, keys + 1, -1 do
    parts[j] = nil
  end

  for _ = 1, runs[i + 2] do
    local bad = false
    for j = 1, keys do
      local part = parts[j]
      local value = redis.pcall("GET", KEYS[key + j]) or ""
      part.changed, part.blocked, part.kept, part.s, part.other = false, 0, false, {}, false
      if value ~= "" then
        local kind, numbers, readable
        if type(value) == "string" then
          kind, numbers = string.match(value, "^([fitlscgh])1([%d,-]*)$")
        end
        if numbers then
          readable, part.s = pcall(cjson.decode, "[" .. numbers .. "]")
        end
        if readable and part.s[1] and part.s[1] < 0 then
          part.blocked = -table.remove(part.s, 1)
          readable = part.blocked <= LATEST
        end
        if readable and kind ~= part.kind then
          part.other, part.others, part.s = kind, part.s, {}
          readable = not part.others[1] or not families[kind] or families[kind].reads(part.others)
        elseif readable and part.s[1] then
          readable = part.f.reads(part.s)
          part.kept = readable and math.floor(math.max(part.f.endsAt(part.s), part.blocked) / SPAN)
        end
        if not readable then
          value, bad = "!", true
        end
      end
      if not tells_figures then
        reply[#reply + 1] = value
      end
    end

    local times = runs[i + 1]
    while times > 0 do
      times = times - 1
      local goes_on = not bad
      if goes_on and op >= 3 then
        for j = 1, keys do
          decide_change(parts[j], op, request[2], now)
        end
      elseif goes_on then
        goes_on = decide_decide(parts, op, now)
      end
      if tells_figures then
        local line = {}
        for j = 1, keys do
          local figures = bad and "!" or decide_figures(parts[j], now)
          line[j] = bad and "!" or string.format("%d,%d,%d,%d,%d,%d,%d,%d", unpack(figures))
        end
        reply[#reply + 1] = table.concat(line, ";")
      elseif not goes_on then
        times = 0
      end
    end

    for j = 1, keys do
      local part = parts[j]
      if part.changed and not bad then
        local name, s, blocked, kind, f = KEYS[key + j], part.s, part.blocked, part.kind, part.f
        if op == BLOCK and part.other and part.cost == 0 then -- a block leaves the state of another kind as it is
          s, kind, f = part.others, part.other, families[part.other]
        end
        local format, ends_at = kind .. "1", blocked
        if blocked > 0 then
          format = format .. string.format(s[1] and "-%d," or "-%d", blocked)
        end
        if s[1] then
          format = format .. (#s == 3 and "%d,%d,%d" or "%d" .. string.rep(",%d", #s - 1))
          ends_at = math.max(f.endsAt(s), blocked)
        end
        if ends_at == 0 then
          redis.call("DEL", name)
        elseif math.floor(ends_at / SPAN) == part.kept then
          redis.call("SET", name, string.format(format, unpack(s)), "KEEPTTL")
        else
          local expires_at = (math.floor(math.min(ends_at, LATEST) / SPAN) + 2) * SPAN
          redis.call("SET", name, string.format(format, unpack(s)), "PXAT", string.format("%d", expires_at))
        end
      end
    end
    key = key + keys
  end
end
return table.concat(reply, "\n")
