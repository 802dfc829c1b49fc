-- Made by scripts/build/print-program.mjs from packages/core/src/program: change it there.
local function blocks_reads(s)
  if #s < 6 or #s > 500 + 1 or s[1] < 0 or s[1] > 9007199254740991 or s[2] < 1 or s[2] > 4398046511104 then
    return false
  end
  if s[3] < 0 or s[3] >= s[2] or s[4] < 0 or s[5] < 1 or s[5] > 4398046511104 or s[6] < 0 then
    return false
  end
  for i = 3, #s - 1 do
    if (s[i + 1]) > 4503599627370496 or (s[i + 1]) < -4398046511104 then
      return false
    end
  end
  return true
end

local function blocks_start(s)
  return s[1] - s[3]
end

-- The newest units stay: the block with which they become too many must leave.
local function blocks_freeAt(p, s, units, t)
  if #s == 0 then
    return t
  end
  local room = p[1] - units
  if s[1] > t - p[6] then
    room = room - s[4]
  end
  if room < 0 then
    return s[1] + p[6]
  end
  local end_ = blocks_start(s) - 1 + s[2]
  for i = 6, #s - 1 do
    if (s[i + 1]) < 0 then
      end_ = blocks_start(s) + (s[i + 1]) + s[2]
    else
      end_ = end_ - s[2]
      if end_ <= t - p[6] then
        return t
      end
      room = room - s[i + 1]
      if room < 0 then
        return end_ + p[6]
      end
    end
  end
  return t
end

local function blocks_emptyAt(p, s)
  if s[4] > 0 then
    return s[1] + p[6]
  end
  local end_ = blocks_start(s) - 1 + s[2]
  for i = 6, #s - 1 do
    if (s[i + 1]) < 0 then
      end_ = blocks_start(s) + (s[i + 1]) + s[2]
    else
      end_ = end_ - s[2]
      if (s[i + 1]) > 0 then
        return end_ + p[6]
      end
    end
  end
  return 0
end

local function blocks_endsAt(s)
  return s[1] + s[5]
end

-- The units of all blocks that end after `since`.
local function blocks_sum(s, since)
  if #s == 0 then
    return 0
  end
  local units = (s[1] > since and s[4] or 0)
  local end_ = blocks_start(s) - 1 + s[2]
  for i = 6, #s - 1 do
    if (s[i + 1]) < 0 then
      end_ = blocks_start(s) + (s[i + 1]) + s[2]
    else
      end_ = end_ - s[2]
      if end_ <= since then
        return units
      end
      units = units + s[i + 1]
    end
  end
  return units
end

local function blocks_used(p, s, t)
  return blocks_sum(s, t - p[6])
end

-- Where the units are counted that were taken at that instant; -1 if they are gone.
local function blocks_placeOf(p, s, at)
  if at >= blocks_start(s) then
    return 3
  end
  local end_ = blocks_start(s) - 1 + s[2]
  local place = -1
  for i = 6, #s - 1 do
    if (s[i + 1]) < 0 then
      end_ = blocks_start(s) + (s[i + 1]) + s[2]
    else
      end_ = end_ - s[2]
      if end_ >= at and end_ < at + p[5] then
        place = i
      end
    end
  end
  return place
end

-- Whether no policy with a longer window takes turns.
local function blocks_isLongest(p, s, t)
  return p[6] >= s[5] or s[6] + t - s[1] >= s[5]
end

-- The state with a new block, and the blocks before it that are kept.
local function blocks_opened(p, s, units, t)
  local onGrid = t - (t % p[5])
  if #s == 0 then
    return { t, p[5], t - onGrid, units, p[6], 0 }
  end
  local begin = math.max(onGrid, blocks_start(s) + s[2])
  local isLonger = blocks_isLongest(p, s, t)
  local kept = (isLonger and p[6] or s[5])
  local after = { t, p[5], t - begin, units, kept, (isLonger and 0 or s[6] + t - s[1]) }
  if s[1] <= t - kept then
    return after
  end
  local next = begin - 1
  local end_ = blocks_start(s) - 1 + s[2]
  for i = 6 - 1, #s - 1 do
    local count = (i < 6 and s[4] or (s[i + 1]))
    if count < 0 then
      end_ = blocks_start(s) + count + s[2]
    else
      if i >= 6 then
        end_ = end_ - s[2]
      end
      if end_ <= t - kept then
        return after
      end
      if count > 0 and #after < 500 then
        if end_ ~= next then
          after[#after + 1] = end_ - begin
        end
        after[#after + 1] = count
        next = end_ - p[5]
      else
        after[#after] = math.min((after[#after]) + count, 4503599627370496)
      end
    end
  end
  return after
end

local function blocks_add(p, s, units, until_, t)
  local before = blocks_used(p, s, t)
  local more = math.min(units, 4503599627370496 - before)
  if more <= 0 or (until_ > 0 and (before == 0 or t >= until_)) then
    return s
  end
  if until_ > 0 then
    local at = math.max(blocks_placeOf(p, s, until_ - p[6]), 3)
    s[at + 1] = math.min((s[at + 1]) + more, 4503599627370496)
    return s
  end
  if #s == 0 or t >= blocks_start(s) + s[2] then
    return blocks_opened(p, s, more, t)
  end
  local isLonger = blocks_isLongest(p, s, t)
  s[6] = (isLonger and 0 or s[6] + t - s[1])
  s[5] = (isLonger and p[6] or s[5])
  s[3] = t - blocks_start(s)
  s[1] = t
  s[4] = math.min(s[4] + more, 4503599627370496)
  return s
end

-- The state of a key that is as if never used.
local function numbers_unused()
  return {}
end

local function blocks_give(p, s, units, until_, t)
  if #s == 0 or (until_ > 0 and t >= until_) then
    return s
  end
  if until_ > 0 then
    local at = blocks_placeOf(p, s, until_ - p[6])
    if at >= 0 then
      s[at + 1] = math.max((s[at + 1]) - units, 0)
    end
  else
    local rest = math.min(units, blocks_used(p, s, t))
    for i = 3, #s - 1 do
      if (s[i + 1]) > 0 and i ~= 4 and i ~= 5 then
        local given = math.min(s[i + 1], rest)
        s[i + 1] = (s[i + 1]) - given
        rest = rest - given
      end
    end
  end
  return (blocks_sum(s, 0) == 0 and numbers_unused() or s)
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
  return math.max(blocks_freeAt(part.p, part.s, needed, part.t, part.holder) - part.t, blocked)
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
      part.delay = math.max(blocks_emptyAt(part.p, part.s) - part.t, 0)
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
        part.s = blocks_add(part.p, part.s, part.cost, 0, now, part.holder)
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
    part.s = blocks_give(part.p, part.s, part.cost, until_, now, part.holder)
  end
  if op == 4 then
    part.s = blocks_add(part.p, part.s, part.cost, until_, now, part.holder)
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
    local after = blocks_add(part.p, part.s, part.cost, 1, now, part.holder)
    part.allowed = after ~= part.s
    part.s = after
  end
  if #part.s > 0 or hadState or op == 5 or op == 6 then
    decide_write(part, now)
  end
end

local blocks = {
  reads = blocks_reads,
  freeAt = blocks_freeAt,
  emptyAt = blocks_emptyAt,
  endsAt = blocks_endsAt,
  add = blocks_add,
  give = blocks_give,
}
local families = { s = blocks }

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
