-- Made by scripts/build/print-program.mjs from packages/core/src/program: change it there.
local function slots_reads(s)
  if #s < 4 + 3 or (#s - 4) % 3 ~= 0 or #s > 4000 then
    return false
  end
  if s[1] < 0 or s[1] > 9007199254740991 or s[4] < 0 then
    return false
  end
  if s[2] < 0 or s[2] > s[1] or s[3] < 0 or s[3] > 4398046511104 then
    return false
  end
  for i = 4, #s - 1, 3 do
    if (s[i + 1]) < 0 or (s[i + 1]) > 9007199254740991 or (s[i + 2]) < 1 or (s[i + 2]) > 4503599627370496 then
      return false
    end
    if (s[i + 3]) < 0 or (s[i + 3]) > 9007199254740991 then
      return false
    end
  end
  return true
end

local function slots_sum(s, since)
  local units = 0
  for i = 4, #s - 1, 3 do
    if (s[i + 1]) > since then
      units = units + s[i + 2]
    end
  end
  return units
end

-- The instant from which the others count.
local function slots_base(s)
  return s[1] - s[2]
end

-- Entries count for so long after their instant.
local function slots_window(p)
  return (p[4] == 2 and 0 or p[5])
end

local function slots_used(p, s, t)
  return (#s == 0 and 0 or slots_sum(s, t - slots_base(s) - slots_window(p)))
end

-- Where the slot of this holder with as many units begins; -1 if there is none.
local function slots_slotOf(p, s, units, t, holder)
  if p[4] == 2 and #s > 0 then
    for i = 4, #s - 1, 3 do
      if s[i + 2] == units and s[i + 3] == holder and (s[i + 1]) > t - slots_base(s) then
        return i
      end
    end
  end
  return -1
end

local function slots_freeAt(p, s, units, t, holder)
  local beyond = slots_used(p, s, t) + units - p[1]
  if beyond <= 0 or slots_slotOf(p, s, units, t, holder) >= 0 then
    return t
  end
  local since = t - slots_base(s) - slots_window(p)
  for i = 4, #s - 1, 3 do
    if (s[i + 1]) > since then
      beyond = beyond - s[i + 2]
    end
    if beyond <= 0 then
      return slots_base(s) + (s[i + 1]) + slots_window(p)
    end
  end
  return t
end

local function slots_emptyAt(p, s)
  return slots_base(s) + (s[#s - 3 + 1]) + slots_window(p)
end

local function slots_endsAt(s)
  return slots_base(s) + (s[#s - 3 + 1]) + s[3]
end

local function slots_add(p, s, units, until_, t, holder)
  local before = slots_used(p, s, t)
  local own = slots_slotOf(p, s, units, t, holder)
  if until_ > 0 and (((p[4] == 2) and (own < 0) or not (p[4] == 2) and (t >= until_ or before == 0))) then
    return s
  end
  local more = math.min(units, 4503599627370496 - before)
  if more <= 0 then
    return s
  end
  local aside = (#s == 0 and 0 or s[4] + t - s[1])
  local isLongest = #s == 0 or slots_window(p) >= s[3] or aside >= s[3]
  local kept = (isLongest and slots_window(p) or s[3])
  local isFresh = #s == 0 or slots_sum(s, t - slots_base(s) - kept) == 0
  local from = (isFresh and t or slots_base(s))
  local at = t - from + ((p[4] == 2 and p[5] or 0))
  local after = { t, t - from, kept, (isLongest and 0 or aside) }
  local isIn = false
  for i = 4, #s - 1, 3 do
    if not isFresh and (s[i + 1]) > t - from - kept and i ~= own then
      if not isIn and (s[i + 1]) > at then
        after[#after + 1] = at
        after[#after + 1] = more
        after[#after + 1] = holder
        isIn = true
      end
      after[#after + 1] = s[i + 1]
      after[#after + 1] = s[i + 2]
      after[#after + 1] = s[i + 3]
    end
  end
  local last = #after - 3
  local isFull = last >= 4 + 3 * (1000 - 1)
  if p[4] ~= 2 and last >= 4 and (after[last + 1] == at or isFull) then
    after[last + 1] = at
    after[last + 2] = (after[last + 2]) + more
  elseif not isIn then
    after[#after + 1] = at
    after[#after + 1] = more
    after[#after + 1] = holder
  end
  return after
end

-- The state of a key that is as if never used.
local function numbers_unused()
  return {}
end

local function slots_give(p, s, units, until_, t, holder)
  local before = slots_used(p, s, t)
  local own = slots_slotOf(p, s, units, t, holder)
  if before == 0 or (((p[4] == 2) and (own < 0) or not (p[4] == 2) and (until_ > 0 and t >= until_))) then
    return s
  end
  local stay = ((p[4] == 2 or until_ > 0) and 0 or math.max(before - units, 0))
  local rest = units
  local since = t - slots_base(s) - slots_window(p)
  local after = { t, t - slots_base(s), s[3], s[4] + t - s[1] }
  for i = 4, #s - 1, 3 do
    local given = (i == own and (s[i + 2]) or 0)
    if p[4] ~= 2 and (s[i + 1]) > since then
      local stays = math.min(stay, s[i + 2])
      given = math.min((s[i + 2]) - stays, rest)
      stay = stay - stays
      rest = rest - given
    end
    if (s[i + 2]) > given then
      after[#after + 1] = s[i + 1]
      after[#after + 1] = (s[i + 2]) - given
      after[#after + 1] = s[i + 3]
    end
  end
  return (#after > 4 and after or numbers_unused())
end

local function slots_left(p, s, t)
  return p[1] - slots_used(p, s, t)
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
  return math.max(slots_freeAt(part.p, part.s, needed, part.t, part.holder) - part.t, blocked)
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
      part.delay = math.max(slots_emptyAt(part.p, part.s) - part.t, 0)
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
        part.s = slots_add(part.p, part.s, part.cost, 0, now, part.holder)
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
    part.s = slots_give(part.p, part.s, part.cost, until_, now, part.holder)
  end
  if op == 4 then
    part.s = slots_add(part.p, part.s, part.cost, until_, now, part.holder)
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
    local after = slots_add(part.p, part.s, part.cost, 1, now, part.holder)
    part.allowed = after ~= part.s
    part.s = after
  end
  if #part.s > 0 or hadState or op == 5 or op == 6 then
    decide_write(part, now)
  end
end

local function decide_figures(part, now)
  local f = part.f
  local p = part.p
  local s = part.s
  local t = part.t
  local blocked = math.max(part.blocked - now, 0)
  local used = slots_used(p, s, t)
  local remaining = (blocked > 0 and 0 or math.max(slots_left(p, s, t), 0))
  local reset = (#s == 0 and 0 or math.max(slots_emptyAt(p, s) - t, 0))
  local next = -1
  if p[4] == 2 then
    if p[1] > 0 and blocked > 0 then
      next = blocked
    end
  elseif p[1] > 0 and (blocked > 0 or (used > 0 and remaining < p[1])) then
    next = math.max(slots_freeAt(p, s, remaining + 1, t, 0) - t, blocked)
  end
  return { (part.allowed and 1 or 0), remaining, used, part.wait, math.max(reset, blocked), next, part.delay, blocked }
end

local slots = {
  reads = slots_reads,
  freeAt = slots_freeAt,
  emptyAt = slots_emptyAt,
  endsAt = slots_endsAt,
  add = slots_add,
  give = slots_give,
  used = slots_used,
  left = slots_left,
}
local families = { g = slots, h = slots }

local tells_figures = true
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
