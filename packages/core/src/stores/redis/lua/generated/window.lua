-- Made by scripts/build/print-program.mjs from packages/core/src/program: change it there.
local math_ceil, math_floor, math_max, math_min = math.ceil, math.floor, math.max, math.min

local function numbers_isWithin(x, min, max)
  return x >= min and x <= max
end

local function window_reads(s)
  if #s ~= 4 and #s ~= 7 then
    return false
  end
  if not (s[1] >= 0 and s[1] <= 9007199254740991) or not (s[2] >= 1 and s[2] <= 4398046511104) then
    return false
  end
  if not numbers_isWithin(s[3], (#s == 4 and 1 or 0), 4503599627370496) or not (s[4] >= 0 and s[4] <= 4503599627370496) then
    return false
  end
  if #s == 4 then
    return true
  end
  return ((s[5] >= 0 and s[5] <= 9007199254740991) and (s[6] >= 1 and s[6] <= s[2]) and (s[7] >= 0 and s[7] <= 4503599627370496))
end

local function window_endsAt(s)
  local end_ = s[1] + s[2]
  return (#s == 7 and math_max(end_, s[5] + s[6]) or end_)
end

-- When the window of this policy that contains t begins.
local function window_begin(p, t)
  return (p[6] == 1 and t - (t % p[5]) or t)
end

-- When the window that counts for this policy ends.
local function window_ownEnd(p, s)
  if p[5] >= s[2] then
    return s[1] + s[2]
  end
  return (#s == 7 and s[5] + s[6] or window_begin(p, s[1]) + p[5])
end

local function window_used(p, s, t)
  if #s == 0 or t >= window_ownEnd(p, s) then
    return 0
  end
  return ((#s == 7 and p[5] < s[2]) and s[7] or s[3])
end

-- Units that the longest window leaves to a shorter policy: while its own policy takes turns, the larger of both limits
-- applies to all in it.
local function window_leftBeside(p, s, t)
  if #s == 0 or p[5] >= s[2] or s[4] == 0 or t >= s[1] + s[2] then
    return 9007199254740991
  end
  return math_max(s[4], p[1]) - s[3]
end

local function window_freeAt(p, s, units, t)
  local end_ = s[1] + s[2]
  if p[5] >= s[2] then
    return ((t < end_ and s[3] + units > p[1]) and end_ or t)
  end
  local at = (window_used(p, s, t) + units > p[1] and window_ownEnd(p, s) or t)
  return (window_leftBeside(p, s, t) < units and math_max(at, end_) or at)
end

-- Moves the first number of a state, and everything relative to it, back to t if it lies after t.
local function numbers_moveFirst(s, t)
  if s[1] <= t then
    return false
  end
  s[1] = t
  return true
end

local function window_move(s, t)
  local isMoved = numbers_moveFirst(s, t)
  if #s == 7 and s[5] > t then
    s[5] = t
    return true
  end
  return isMoved
end

local function window_emptyAt(p, s)
  return window_ownEnd(p, s)
end

-- When the window after this one begins: on the clock, if this one did.
local function window_restart(start, length, t)
  return (start % length == 0 and t - (t % length) or t)
end

-- The windows, of two lengths, that count units at t.
local function window_open(p, s, t)
  local isOpen = t < s[1] + s[2]
  local isShorter = p[5] < s[2]
  local start = (p[5] > s[2] and window_begin(p, s[1]) or s[1])
  local length = math_max(p[5], s[2])
  if t >= start + length then
    start = (isShorter and window_restart(s[1], length, t) or window_begin(p, t))
  end
  local after = { start, length, (isOpen and s[3] or 0), (isOpen and s[4] or 0) }
  local isOne = #s == 4
  local part = (isOne and ((isShorter and window_begin(p, s[1]) or s[1])) or s[5])
  local partLength = (isOne and math_min(p[5], s[2]) or s[6])
  if t < part + partLength then
    after[#after + 1] = part
    after[#after + 1] = (isShorter and math_max(p[5], partLength) or partLength)
    after[#after + 1] = (isOne and s[3] or s[7])
  elseif isShorter then
    after[#after + 1] = window_begin(p, t)
    after[#after + 1] = p[5]
    after[#after + 1] = 0
  else
    after[#after + 1] = window_restart(part, partLength, t)
    after[#after + 1] = partLength
    after[#after + 1] = 0
  end
  return after
end

local function window_add(p, s, units, until_, t)
  if until_ > 0 and (window_used(p, s, t) == 0 or until_ ~= window_ownEnd(p, s)) then
    return s
  end
  if #s == 0 then
    return { window_begin(p, t), p[5], units, p[1] }
  end
  local after = ((#s == 4 and p[5] == s[2]) and s or window_open(p, s, t))
  after[3] = math_min(after[3] + units, 4503599627370496)
  if p[5] == after[2] then
    after[4] = p[1]
  end
  if #after == 7 then
    after[7] = math_min(after[7] + units, 4503599627370496)
  end
  return after
end

local function decide_copy(s)
  local all = {}
  for i = 0, #s - 1 do
    all[#all + 1] = s[i + 1]
  end
  return all
end

-- How many ms until a key allows its part of a request: 0 now, -1 never. Uses conditions instead of Math.max, because
-- calls are slow in Lua.
local function decide_waitFor(part, now)
  local p = part.p
  local blocked = (part.blocked > now and part.blocked - now or 0)
  if part.cost == 0 then
    return blocked
  end
  local needed = (p[2] > 0 and math_max(part.cost - p[2], 1) or part.cost)
  if needed > p[1] then
    return -1
  end
  if #part.s == 0 then
    return blocked
  end
  local freeAt = window_freeAt(p, part.s, needed, now, part.holder)
  local wait = ((freeAt < part.endsAt and freeAt or part.endsAt)) - now
  return (wait > blocked and wait or blocked)
end

-- How many ms until a request that a leaky bucket allows may start.
local function decide_delayOf(part, now)
  if part.wait ~= 0 or #part.s == 0 or part.cost == 0 then
    return 0
  end
  return math_max(window_emptyAt(part.p, part.s) - now, 0)
end

-- Takes from all parts if all of them allow it, or from none. A denial writes nothing, unless its own policy blocks the
-- key for it, which it does not do for a cost that never fits or while the key is blocked.
local function decide_decide(parts, op, now)
  local allowed = true
  for i = 0, #parts - 1 do
    local part = parts[i + 1]
    part.endsAt = 0
    if part.resetEnd <= now then
      part.resetAt = 0
      part.resetEnd = 0
    end
    if #part.s > 0 then
      if part.s[1] > now or #part.s > 6 then
        if op == 1 then
          part.s = decide_copy(part.s)
        end
        if window_move(part.s, now) and op ~= 1 then
          part.changed = true
          if part.blocked <= now then
            part.blocked = 0
          end
        end
      end
      part.endsAt = window_endsAt(part.s)
      if part.endsAt <= now then
        part.s = {}
      end
    end
    local wait = decide_waitFor(part, now)
    part.wait = wait
    if part.p[4] == 1 then
      part.delay = decide_delayOf(part, now)
    end
    if wait ~= 0 then
      allowed = false
      if wait > 0 and op == 0 and part.blocked <= now and part.p[3] > 0 then
        part.blocked = now + part.p[3]
        part.wait = math_max(wait, part.p[3])
        part.changed = true
        if part.blocked <= now then
          part.blocked = 0
        end
      end
    end
  end
  if allowed and op ~= 1 then
    for i = 0, #parts - 1 do
      local part = parts[i + 1]
      if part.cost > 0 then
        part.s = window_add(part.p, part.s, part.cost, 0, now, part.holder)
        part.changed = true
        if part.blocked <= now then
          part.blocked = 0
        end
      end
    end
  end
  return allowed
end

local function is_state(kind, s)
  local function numbers_isWithin(x, min, max)
    return x >= min and x <= max
  end

  local function window_reads(s)
    if #s ~= 4 and #s ~= 7 then
      return false
    end
    if not (s[1] >= 0 and s[1] <= 9007199254740991) or not (s[2] >= 1 and s[2] <= 4398046511104) then
      return false
    end
    if not numbers_isWithin(s[3], (#s == 4 and 1 or 0), 4503599627370496) or not (s[4] >= 0 and s[4] <= 4503599627370496) then
      return false
    end
    if #s == 4 then
      return true
    end
    return ((s[5] >= 0 and s[5] <= 9007199254740991) and (s[6] >= 1 and s[6] <= s[2]) and (s[7] >= 0 and s[7] <= 4503599627370496))
  end

  local function interval_endsAt(s)
    return s[1] + math_ceil(s[2] / s[3]) * s[4]
  end

  local function interval_reads(s)
    if #s ~= 4 or not (s[1] >= 0 and s[1] <= 9007199254740991) or not (s[2] >= 1 and s[2] <= 4503599627370496) then
      return false
    end
    if not (s[3] >= 1 and s[3] <= 4503599627370496) or not (s[4] >= 1 and s[4] <= 4398046511104) then
      return false
    end
    return interval_endsAt(s) - s[1] <= 4503599627370496
  end

  local function debt_reads(s)
    if #s ~= 4 or not (s[1] >= 0 and s[1] <= 9007199254740991) or not (s[2] >= 1 and s[2] <= 4503599627370496) then
      return false
    end
    return (s[3] >= 1 and s[3] <= 4398046511104) and (s[4] >= 1 and s[4] <= 4503599627370496)
  end

  local function blocks_reads(s)
    if #s < 6 or #s > 500 + 1 then
      return false
    end
    if not (s[1] >= 0 and s[1] <= 9007199254740991) or not (s[2] >= 1 and s[2] <= 4398046511104) then
      return false
    end
    if s[3] < 0 or s[3] >= s[2] or not (s[4] >= 0 and s[4] <= 4503599627370496) then
      return false
    end
    if not (s[5] >= 1 and s[5] <= 4398046511104) or not (s[6] >= 0 and s[6] <= 4503599627370496) then
      return false
    end
    for i = 6, #s - 1 do
      if not (s[i + 1] >= -4398046511104 and s[i + 1] <= 4503599627370496) then
        return false
      end
    end
    return true
  end

  local function counter_areCounts(s, from)
    local length = s[from + 2]
    local max = math_min(math_floor(9007199254740991 / length), 4503599627370496)
    if not (s[from + 1] >= 0 and s[from + 1] <= 9007199254740991) or not (length >= 1 and length <= 4398046511104) then
      return false
    end
    return (s[from + 3] >= 0 and s[from + 3] <= max) and (s[from + 4] >= 0 and s[from + 4] <= max)
  end

  local function counter_reads(s)
    if #s ~= 5 and #s ~= 9 then
      return false
    end
    return counter_areCounts(s, 0) and (s[5] >= 0 and s[5] <= 4503599627370496) and (#s == 5 or counter_areCounts(s, 5))
  end

  local function slots_reads(s)
    if #s < 4 + 3 or (#s - 4) % 3 ~= 0 or #s > 4000 then
      return false
    end
    if not (s[1] >= 0 and s[1] <= 9007199254740991) or s[2] < 0 or s[2] > s[1] then
      return false
    end
    if not (s[3] >= 0 and s[3] <= 4398046511104) or not (s[4] >= 0 and s[4] <= 4503599627370496) then
      return false
    end
    for i = 4, #s - 1, 3 do
      if not (s[i + 1] >= 0 and s[i + 1] <= 9007199254740991) or not (s[i + 2] >= 1 and s[i + 2] <= 4503599627370496) then
        return false
      end
      if not (s[i + 3] >= 0 and s[i + 3] <= 9007199254740991) then
        return false
      end
    end
    return true
  end

  local reads = { f = window_reads, i = interval_reads, t = debt_reads, l = debt_reads, s = blocks_reads, c = counter_reads, g = slots_reads, h = slots_reads }
  return reads[kind](s)
end

-- KEYS     the keys of the requests, one after the other: a key that several requests name stands there several times
-- ARGV[1]  the letter of each policy's kind
-- ARGV[2]  JSON: a list of the numbers of each policy, and at last a list of runs of requests that differ in their keys
--          alone: op, how often each is asked (of an edit: until), how many they are, the number of keys of each, and for
--          each of these the index of its policy, its cost and its holder. A policy alone: a unit is taken from each key
-- ARGV[3]  only in tests: the instant
-- reply    the instant, then the values that each request found, a line each: the caller runs the program on them. "!"
--          stands for a value that is no state. Where `tells_figures`, the figures of each request instead.
-- A value is the letter of its kind, 1 for this format, and whole numbers with commas between. If the key is blocked, the
-- first is the negative instant until which it is; after a reset the second is its negative instant, the third until when
-- what it has forgotten would have counted, and the first -1 if the key is not blocked. The others are the state. A state
-- of another kind counts as none.
-- Lines that end in "only ..." are printed only in the scripts that need them: print-program.mjs.
local now = tonumber(ARGV[3])
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math_floor(time[2] / 1000)
end
-- A value is kept for half a minute to a minute after its state ends: most writes leave the instant as it is.
local SPAN, LATEST = 30000, 9007199254680991
local unpack = table.unpack or unpack -- Lua 5.4 or 5.1
-- A global takes two look-ups, a local none.
local match, format = string.match, string.format
local policies, parts, formats, key, at = cjson.decode(ARGV[2]), {}, {}, 0, 1
local reply, runs = { format("%d", now) }, policies[2] and policies[#policies] or { 0, 1, #KEYS, 1, 1, 1, 0 }

while at <= #runs do
  local op, times, requests, keys = runs[at], runs[at + 1], runs[at + 2], runs[at + 3]
  at = at + 4
  for j = keys + 1, #parts do
    parts[j] = nil
  end
  for j = 1, keys do
    local policy = runs[at]
    parts[j] = {
      kind = string.sub(ARGV[1], policy, policy), p = policies[policy], cost = runs[at + 1], one = runs[at + 1], holder = runs[at + 2],
      s = false, blocked = 0, resetAt = 0, resetEnd = 0, keeps_expiry = true, found_end = 0, endsAt = 0, wait = 0, delay = 0, changed = false,
    }
    at = at + 3
  end

  for _ = 1, requests do
    local bad = false
    for j = 1, keys do
      local part = parts[j]
      local value = redis.pcall("GET", KEYS[key + j])
      part.changed, part.blocked, part.resetAt, part.resetEnd, part.keeps_expiry, part.found_end = false, 0, 0, 0, true, 0
      if not value then
        value = ""
        part.s = {}
      else
        local readable, kind = false, nil
        if type(value) == "string" then
          local a, b, c, d, e, numbers
          kind, a, b, c, d, e = match(value, "^([fitlscgh])1(%d+),(%d+),(%d+),(%d+)(,?%d*)$")
          if e == "" then
            readable, part.s = true, { a + 0, b + 0, c + 0, d + 0 }
          elseif e and e ~= "," then
            readable, part.s = true, { a + 0, b + 0, c + 0, d + 0, string.sub(e, 2) + 0 }
          end
          if not kind then
            kind, numbers = match(value, "^([fitlscgh])1([%d,-]*)$")
          end
          if numbers then
            readable, part.s = pcall(cjson.decode, "[" .. numbers .. "]")
            if readable and part.s[1] and part.s[1] < 0 then
              part.blocked, part.keeps_expiry = -table.remove(part.s, 1), false
              if part.s[1] and part.s[1] < 0 then
                part.resetAt = -table.remove(part.s, 1)
              end
              if part.s[1] and part.s[1] < 0 then
                part.resetEnd = -table.remove(part.s, 1)
              end
              readable = part.blocked <= LATEST and part.resetAt <= LATEST and part.resetEnd <= LATEST
            end
          end
        elseif string.sub(value.err, 1, 9) ~= "WRONGTYPE" then
          redis.call("GET", KEYS[key + j]) -- fails as it has just failed, and with it the call
        end
        if readable and kind ~= part.kind then
          readable = not part.s[1] or is_state(kind, part.s)
          part.s = {}
        elseif readable and part.s[1] then
          readable = window_reads(part.s)
          part.keeps_expiry = readable and part.keeps_expiry and part.s[1] <= now
          part.found_end = readable and window_endsAt(part.s) or 0
        end
        if not readable then
          bad = true
          value = "!"
        end
      end
      reply[#reply + 1] = value
    end

    local left = times
    -- Equal asks that fit together are one ask for their sum, unless a policy has an overdraft.
    local is_sum = times > 1 and op ~= 1 and not bad
    for j = 1, is_sum and keys or 0 do
      is_sum, parts[j].cost = is_sum and parts[j].p[2] == 0, parts[j].one * times
    end
    if is_sum and decide_decide(parts, 2, now) then
      left = 0
    end
    for j = 1, keys do
      parts[j].cost = parts[j].one
    end
    while left > 0 do
      left = left - 1
      if bad or not decide_decide(parts, op, now) then
        left = 0
      end
    end

    for j = 1, bad and 0 or keys do
      local part = parts[j]
      if part.changed then
        local s, kind, ends_at, text = part.s, part.kind, math_max(part.blocked, part.resetEnd), nil
        local count = #s
        local marks = part.resetAt > 0 and format("-%d,-%d,-%d", math_max(part.blocked, 1), part.resetAt, part.resetEnd)
          or part.blocked > 0 and format("-%d", part.blocked) or ""
        if count == 4 and marks == "" then
          text = format("%s1%d,%d,%d,%d", kind, s[1], s[2], s[3], s[4])
        elseif count > 0 then
          formats[count] = formats[count] or "%s1%s%d" .. string.rep(",%d", count - 1)
          text = format(formats[count], kind, marks == "" and "" or marks .. ",", unpack(s))
        elseif marks ~= "" then
          text = kind .. "1" .. marks
        end
        if count > 0 then
          local ends = window_endsAt(s)
          ends_at = ends > ends_at and ends or ends_at
        end
        if not text then
          redis.call("DEL", KEYS[key + j])
        elseif part.keeps_expiry and part.blocked == 0 and ends_at - ends_at % SPAN == part.found_end - part.found_end % SPAN then
          redis.call("SET", KEYS[key + j], text, "KEEPTTL")
        else
          local expires_at = (math_floor(math_min(ends_at, LATEST) / SPAN) + 2) * SPAN
          redis.call("SET", KEYS[key + j], text, "PXAT", format("%d", expires_at))
        end
      end
    end
    key = key + keys
  end
end
return table.concat(reply, "\n")
