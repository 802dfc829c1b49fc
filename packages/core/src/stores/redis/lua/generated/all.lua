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

local function window_give(p, s, units, until_, t)
  local before = window_used(p, s, t)
  if before == 0 or (until_ > 0 and until_ ~= window_ownEnd(p, s)) then
    return s
  end
  local given = math_min(units, before)
  s[3] = math_max(s[3] - given, 0)
  if #s == 4 then
    return (s[3] == 0 and {} or s)
  end
  s[7] = (p[5] < s[2] and before - given or math_min(s[7], s[3]))
  return ((s[3] == 0 and s[7] == 0) and {} or s)
end

local function window_left(p, s, t)
  return math_min(p[1] - window_used(p, s, t), window_leftBeside(p, s, t))
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

local function interval_used(p, s, t)
  return (#s == 0 and 0 or math_max(s[2] - math_floor((t - s[1]) / p[6]) * p[5], 0))
end

-- When the current period began.
local function interval_begin(p, s, t)
  return t - ((t - s[1]) % p[6])
end

local function interval_freeAt(p, s, units, t)
  local beyond = interval_used(p, s, t) + units - p[1]
  return (beyond > 0 and interval_begin(p, s, t) + math_ceil(beyond / p[5]) * p[6] or t)
end

local function interval_move(s, t)
  return numbers_moveFirst(s, t)
end

local function interval_emptyAt(p, s)
  return s[1] + math_ceil(s[2] / p[5]) * p[6]
end

-- At most the units that come back before MAX_COUNT ms have passed.
local function interval_written(p, s, before, units, t)
  local max = math_min(math_floor(4503599627370496 / p[6]) * p[5], 4503599627370496)
  return { (before == 0 and t or interval_begin(p, s, t)), math_min(units, max), p[5], p[6] }
end

local function interval_add(p, s, units, _until, t)
  local before = interval_used(p, s, t)
  local after = interval_written(p, s, before, before + units, t)
  return (after[2] > before and after or s)
end

local function interval_give(p, s, units, _until, t)
  local before = interval_used(p, s, t)
  if before == 0 then
    return s
  end
  return (before > units and interval_written(p, s, before, before - units, t) or {})
end

local function interval_left(p, s, t)
  return p[1] - interval_used(p, s, t)
end

local function debt_reads(s)
  if #s ~= 4 or not (s[1] >= 0 and s[1] <= 9007199254740991) or not (s[2] >= 1 and s[2] <= 4503599627370496) then
    return false
  end
  return (s[3] >= 1 and s[3] <= 4398046511104) and (s[4] >= 1 and s[4] <= 4503599627370496)
end

local function debt_endsAt(s)
  return s[1] + math_ceil(s[2] / s[4])
end

-- `count * to / from`, rounded up, and at most MAX_COUNT. Both periods are at most MAX_PERIOD; the product need not be exact.
local function numbers_scaleUp(count, to, from)
  local whole = math_floor(count / from)
  local rest = count - whole * from
  local scaled = 0
  local left = 0
  for place = 4, 0, -1 do
    local digit = math_floor(to / 1024 ^ place) % 1024
    left = left * 1024 + digit * rest
    local times = math_floor(left / from)
    left = left - (times * from)
    scaled = scaled * 1024 + times
  end
  if left > 0 then
    scaled = scaled + 1
  end
  return math_min(whole * to + scaled, 4503599627370496)
end

local function debt_owed(p, s, t)
  if #s == 0 then
    return 0
  end
  local debt = (s[3] == p[6] and s[2] or numbers_scaleUp(s[2], p[6], s[3]))
  return math_max(debt - (t - s[1]) * p[5], 0)
end

local function debt_freeAt(p, s, units, t)
  local beyond = debt_owed(p, s, t) + units * p[6] - p[7]
  return (beyond > 0 and t + math_ceil(beyond / p[5]) or t)
end

local function debt_move(s, t)
  return numbers_moveFirst(s, t)
end

local function debt_emptyAt(p, s)
  return s[1] + math_ceil(debt_owed(p, s, s[1]) / p[5])
end

local function debt_written(p, s, debt, t)
  if #s == 0 then
    return { t, debt, p[6], p[5] }
  end
  s[1] = t
  s[2] = debt
  s[3] = p[6]
  s[4] = p[5]
  return s
end

local function debt_add(p, s, units, _until, t)
  local before = debt_owed(p, s, t)
  local more = math_min(units, math_floor((4503599627370496 - before) / p[6]))
  return (more > 0 and debt_written(p, s, before + more * p[6], t) or s)
end

local function debt_give(p, s, units, until_, t)
  local before = debt_owed(p, s, t)
  if before == 0 or (p[4] == 1 and until_ > 0 and until_ ~= debt_emptyAt(p, s)) then
    return s
  end
  if math_ceil(before / p[6]) <= units then
    return {}
  end
  return debt_written(p, s, before - units * p[6], t)
end

local function debt_used(p, s, t)
  return math_ceil(debt_owed(p, s, t) / p[6])
end

local function debt_left(p, s, t)
  return math_floor((p[7] - debt_owed(p, s, t)) / p[6])
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

local function blocks_endsAt(s)
  return s[1] + s[5]
end

-- The inverse: how old the oldest of these units (more than `limit`) must be. Not for a limit of 0.
local function numbers_ageFor(units, limit, window, longLimit, longest)
  if units <= longLimit or window >= longest then
    return window
  end
  return math_min((math_ceil(units / limit) - 1) * window, longest)
end

local function blocks_freeAt(p, s, units, t)
  local oldest = t - math_max(p[6], s[5])
  local sum = s[4] + units
  local free = (sum > p[1] and math_max(s[1] + numbers_ageFor(sum, p[1], p[6], s[6], s[5]), t) or t)
  local end_ = (s[1] - s[3]) - 1 + s[2]
  for i = 6, #s - 1 do
    local count = s[i + 1]
    end_ = (count < 0 and (s[1] - s[3]) + count + s[2] or end_ - s[2])
    if end_ <= oldest then
      return free
    end
    if count >= 0 then
      sum = sum + count
      if sum > p[1] then
        free = math_max(free, end_ + numbers_ageFor(sum, p[1], p[6], s[6], s[5]))
      end
    end
  end
  return free
end

local function blocks_move(s, t)
  return numbers_moveFirst(s, t)
end

local function blocks_emptyAt(p, s)
  if s[4] > 0 then
    return s[1] + p[6]
  end
  local end_ = (s[1] - s[3]) - 1 + s[2]
  for i = 6, #s - 1 do
    local count = s[i + 1]
    end_ = (count < 0 and (s[1] - s[3]) + count + s[2] or end_ - s[2])
    if count > 0 then
      return end_ + p[6]
    end
  end
  return 0
end

-- The units of all blocks that end after `since`.
local function blocks_sum(s, since)
  if #s == 0 then
    return 0
  end
  local units = (s[1] > since and s[4] or 0)
  local end_ = (s[1] - s[3]) - 1 + s[2]
  for i = 6, #s - 1 do
    local count = s[i + 1]
    end_ = (count < 0 and (s[1] - s[3]) + count + s[2] or end_ - s[2])
    if end_ <= since then
      return units
    end
    if count > 0 then
      units = units + count
    end
  end
  return units
end

local function blocks_used(p, s, t)
  return blocks_sum(s, t - p[6])
end

-- Where units taken at that instant are counted; -1 if they are gone.
local function blocks_placeOf(p, s, at)
  if at >= (s[1] - s[3]) then
    return 3
  end
  local end_ = (s[1] - s[3]) - 1 + s[2]
  local place = -1
  for i = 6, #s - 1 do
    local count = s[i + 1]
    end_ = (count < 0 and (s[1] - s[3]) + count + s[2] or end_ - s[2])
    if count >= 0 and end_ >= at and end_ < at + p[5] then
      place = i
    end
  end
  return place
end

-- The state with a new block, and the earlier blocks that are kept.
local function blocks_opened(p, s, units, t)
  local begin = math_max(t - (t % p[5]), math_min((s[1] - s[3]) + s[2], s[1] + 1))
  local kept = math_max(p[6], s[5])
  local after = { t, p[5], t - begin, units, kept, (p[6] == kept and p[1] or s[6]) }
  local cell = (#s > 250 and math_ceil(kept / 100) or 1)
  local newerEnd = begin - 1
  local newerCell = -1
  local end_ = (s[1] - s[3]) - 1 + s[2]
  for i = 6 - 1, #s - 1 do
    local count = (i < 6 and s[4] or (s[i + 1]))
    if i >= 6 then
      end_ = (count < 0 and (s[1] - s[3]) + count + s[2] or end_ - s[2])
    end
    local closed = ((i < 6 and kept > p[6]) and s[1] or math_min(end_, begin - 1))
    if count >= 0 and closed <= t - kept then
      return after
    end
    if count > 0 then
      local ownCell = (closed <= t - p[6] and math_floor(closed / cell) or -i)
      if ownCell == newerCell or #after >= 500 then
        after[#after] = math_min((after[#after]) + count, 4503599627370496)
        after[6] = 4503599627370496
      else
        if closed ~= newerEnd then
          after[#after + 1] = closed - begin
        end
        after[#after + 1] = count
        newerEnd = closed - p[5]
      end
      newerCell = ownCell
    end
  end
  return after
end

local function blocks_add(p, s, units, until_, t)
  if until_ > 0 then
    if t >= until_ or blocks_used(p, s, t) == 0 then
      return s
    end
    local at = math_max(blocks_placeOf(p, s, until_ - p[6]), 3)
    s[at + 1] = math_min((s[at + 1]) + units, 4503599627370496)
    return s
  end
  if #s == 0 then
    return { t, p[5], t % p[5], units, p[6], p[1] }
  end
  if t >= (s[1] - s[3]) + s[2] or (p[5] < s[2] and t - (t % p[5]) > s[1]) then
    return blocks_opened(p, s, units, t)
  end
  if p[6] >= s[5] then
    s[5] = p[6]
    s[6] = p[1]
  end
  s[3] = t - (s[1] - s[3])
  s[1] = t
  s[4] = math_min(s[4] + units, 4503599627370496)
  return s
end

local function blocks_give(p, s, units, until_, t)
  if until_ > 0 and t >= until_ then
    return s
  end
  if until_ > 0 then
    local at = blocks_placeOf(p, s, until_ - p[6])
    if at >= 0 then
      s[at + 1] = math_max((s[at + 1]) - units, 0)
    end
  else
    local rest = math_min(units, blocks_used(p, s, t))
    for i = 3, #s - 1 do
      if (s[i + 1]) > 0 and (i == 3 or i >= 6) then
        local given = math_min(s[i + 1], rest)
        s[i + 1] = (s[i + 1]) - given
        rest = rest - given
      end
    end
  end
  return (blocks_sum(s, 0) == 0 and {} or s)
end

-- How many units may be younger than this, including the next unit.
local function numbers_roomAt(age, limit, window, longLimit, longest)
  if age < window then
    return limit
  end
  return (age < longest and math_max(limit * (math_floor(age / window) + 1), longLimit) or 9007199254740991)
end

local function blocks_left(p, s, t)
  if #s == 0 then
    return p[1]
  end
  local units = s[4]
  local room = math_min(p[1], numbers_roomAt(t - s[1], p[1], p[6], s[6], s[5]) - units)
  local end_ = (s[1] - s[3]) - 1 + s[2]
  for i = 6, #s - 1 do
    local count = s[i + 1]
    end_ = (count < 0 and (s[1] - s[3]) + count + s[2] or end_ - s[2])
    if count >= 0 then
      units = units + count
      room = math_min(room, numbers_roomAt(t - end_, p[1], p[6], s[6], s[5]) - units)
    end
  end
  return room
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

local function counter_goneAt(s, from)
  local end_ = (s[from + 1]) + (s[from + 2])
  if (s[from + 3]) > 0 then
    return end_ + (s[from + 2])
  end
  return ((s[from + 4]) > 0 and end_ or 0)
end

local function counter_endsAt(s)
  return (#s == 9 and math_max(counter_goneAt(s, 0), counter_goneAt(s, 5)) or counter_goneAt(s, 0))
end

-- What still counts at t of the window stored at this place.
local function counter_counted(s, from, t)
  local length = s[from + 2]
  local left = (s[from + 1]) + length - t
  if left > 0 then
    return (s[from + 3]) + math_ceil(((s[from + 4]) * left) / length)
  end
  return (left + length > 0 and math_ceil(((s[from + 3]) * (left + length)) / length) or 0)
end

-- From when at most `room` units count.
local function counter_countedFrom(s, from, room, t)
  if counter_counted(s, from, t) <= room then
    return t
  end
  local length = s[from + 2]
  local units = s[from + 3]
  local end_ = (s[from + 1]) + length
  if units <= room then
    return end_ - math_floor(((room - units) * length) / (s[from + 4]))
  end
  return end_ + length - math_floor((room * length) / units)
end

-- The place of this policy's window; -1 if the state has none of its length.
local function counter_placeOf(p, s)
  if s[2] == p[5] then
    return 0
  end
  return ((#s == 9 and s[5 + 2] == p[5]) and 5 or -1)
end

-- The state as one window of this policy's length, with the units of windows of other lengths.
local function counter_own(p, s)
  local from = counter_placeOf(p, s)
  if from >= 0 then
    return { s[from + 1], s[from + 2], s[from + 3], s[from + 4], p[1] }
  end
  local start = s[1] - (s[1] % p[5])
  local after = { start, p[5], s[3], 0, p[1] }
  if p[5] > s[2] and start == s[1] then
    after[4] = s[4]
  elseif p[5] > s[2] then
    after[3] = after[3] + s[4]
  end
  return after
end

-- What the longest window may count for a shorter policy: the larger of both limits, while its own policy takes turns.
local function counter_maxBeside(p, s)
  return ((s[5] > 0 and p[5] < s[2]) and math_max(s[5], p[1]) or 9007199254740991)
end

local function counter_freeAt(p, s, units, t)
  if s[2] == p[5] then
    return counter_countedFrom(s, 0, p[1] - units, t)
  end
  local at = counter_countedFrom(counter_own(p, s), 0, p[1] - units, t)
  return math_max(at, counter_countedFrom(s, 0, counter_maxBeside(p, s) - units, t))
end

local function counter_move(s, t)
  local isMoved = numbers_moveFirst(s, t)
  if #s == 9 and s[6] > t then
    s[6] = t
    return true
  end
  return isMoved
end

local function counter_emptyAt(p, s)
  return (s[2] == p[5] and counter_goneAt(s, 0) or counter_goneAt(counter_own(p, s), 0))
end

local function counter_used(p, s, t)
  if #s == 0 then
    return 0
  end
  return (s[2] == p[5] and counter_counted(s, 0, t) or counter_counted(counter_own(p, s), 0, t))
end

-- Adds units (or removes them, if negative) where the units that expire at `until` are counted; 0 means the newest.
local function counter_edited(p, s, units, until_)
  local window = counter_own(p, s)
  local end_ = window[1] + window[2]
  local max = math_min(math_floor(9007199254740991 / s[2]), 4503599627370496)
  local rest = units
  for place = 2, 4 - 1 do
    if until_ == 0 or until_ == end_ + ((place == 2 and window[2] or 0)) then
      local after = math_min(math_max((window[place + 1]) + rest, 0), max)
      local change = after - (window[place + 1])
      local from = math_max(counter_placeOf(p, s), 0)
      s[from + place + 1] = math_max((s[from + place + 1]) + change, 0)
      if from == 5 then
        s[3] = math_min(math_max(s[3] + change, 0), max)
      end
      rest = rest - change
    end
  end
  return s
end

-- The windows of two lengths.
local function counter_open(p, s)
  local mine = counter_own(p, s)
  local isShorter = p[5] < s[2]
  local after = (isShorter and ({ s[1], s[2], s[3], s[4], s[5] }) or mine)
  local part = (#s == 9 and 5 or 0)
  if isShorter then
    after[#after + 1] = mine[1]
    after[#after + 1] = mine[2]
    after[#after + 1] = mine[3]
    after[#after + 1] = mine[4]
  else
    after[#after + 1] = s[part + 1]
    after[#after + 1] = s[part + 2]
    after[#after + 1] = s[part + 3]
    after[#after + 1] = s[part + 4]
  end
  return after
end

local function counter_add(p, s, units, until_, t)
  if until_ > 0 then
    return ((t >= until_ or counter_used(p, s, t) == 0) and s or counter_edited(p, s, units, until_))
  end
  if #s == 0 then
    local first = { t - (t % p[5]), p[5], 0, 0, p[1] }
    do
      local length = first[0 + 2]
      local end_ = (first[0 + 1]) + length
      if t >= end_ then
        first[0 + 4] = (t < end_ + length and (first[0 + 3]) or 0)
        first[0 + 3] = 0
        first[0 + 1] = t - (t % length)
      end
      first[0 + 3] = math_min((first[0 + 3]) + units, 4503599627370496, math_floor(9007199254740991 / length))
    end
    return first
  end
  local after = ((#s == 5 and s[2] == p[5]) and s or counter_open(p, s))
  if t >= after[1] + after[2] then
    after[5] = 0
  end
  if p[5] == after[2] then
    after[5] = p[1]
  end
  do
    local length = after[0 + 2]
    local end_ = (after[0 + 1]) + length
    if t >= end_ then
      after[0 + 4] = (t < end_ + length and (after[0 + 3]) or 0)
      after[0 + 3] = 0
      after[0 + 1] = t - (t % length)
    end
    after[0 + 3] = math_min((after[0 + 3]) + units, 4503599627370496, math_floor(9007199254740991 / length))
  end
  if #after == 9 then
    do
      local length = after[5 + 2]
      local end_ = (after[5 + 1]) + length
      if t >= end_ then
        after[5 + 4] = (t < end_ + length and (after[5 + 3]) or 0)
        after[5 + 3] = 0
        after[5 + 1] = t - (t % length)
      end
      after[5 + 3] = math_min((after[5 + 3]) + units, 4503599627370496, math_floor(9007199254740991 / length))
    end
  end
  return after
end

local function counter_give(p, s, units, until_, t)
  if counter_used(p, s, t) == 0 or (until_ > 0 and t >= until_) then
    return s
  end
  local after = counter_edited(p, s, -units, until_)
  return (counter_endsAt(after) <= t and {} or after)
end

local function counter_left(p, s, t)
  local free = p[1] - counter_used(p, s, t)
  return (#s == 0 and free or math_min(free, counter_maxBeside(p, s) - counter_counted(s, 0, t)))
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

local function slots_endsAt(s)
  return (s[1] - s[2]) + (s[#s - 3 + 1]) + s[3]
end

-- Where this holder's slot of this many units begins; -1 if there is none.
local function slots_slotOf(p, s, units, t, holder)
  if p[4] == 2 then
    for i = 4, #s - 1, 3 do
      if s[i + 2] == units and s[i + 3] == holder and (s[i + 1]) > t - (s[1] - s[2]) then
        return i
      end
    end
  end
  return -1
end

local function slots_freeAt(p, s, units, t, holder)
  if slots_slotOf(p, s, units, t, holder) >= 0 then
    return t
  end
  local oldest = t - (s[1] - s[2]) - math_max(((p[4] == 2 and 0 or p[5])), s[3])
  local count = units
  local free = t
  for i = #s - 3, 4, -3 do
    local at = s[i + 1]
    if at <= oldest then
      return free
    end
    count = count + s[i + 2]
    if count > p[1] then
      free = math_max(free, (s[1] - s[2]) + at + numbers_ageFor(count, p[1], ((p[4] == 2 and 0 or p[5])), s[4], s[3]))
    end
  end
  return free
end

local function slots_move(s, t)
  return numbers_moveFirst(s, t)
end

local function slots_emptyAt(p, s)
  return (s[1] - s[2]) + (s[#s - 3 + 1]) + ((p[4] == 2 and 0 or p[5]))
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

local function slots_used(p, s, t)
  return (#s == 0 and 0 or slots_sum(s, t - (s[1] - s[2]) - ((p[4] == 2 and 0 or p[5]))))
end

local function slots_add(p, s, units, until_, t, holder)
  local own = slots_slotOf(p, s, units, t, holder)
  if until_ > 0 and (((p[4] == 2) and (own < 0) or not (p[4] == 2) and (t >= until_ or slots_used(p, s, t) == 0))) then
    return s
  end
  local isLongest = #s == 0 or ((p[4] == 2 and 0 or p[5])) >= s[3]
  local kept = (isLongest and ((p[4] == 2 and 0 or p[5])) or s[3])
  local isFresh = #s == 0 or slots_sum(s, t - (s[1] - s[2]) - kept) == 0
  local from = (isFresh and t or (s[1] - s[2]))
  local at = t - from + ((p[4] == 2 and p[5] or 0))
  local after = { t, t - from, kept, (isLongest and p[1] or s[4]) }
  local cell = (#s > 2500 and math_ceil(kept / 100) or 1)
  local olderCell = -1
  local isIn = false
  for i = 4, #s - 1, 3 do
    local taken = s[i + 1]
    if not isFresh and taken > t - from - kept and i ~= own then
      if not isIn and taken > at then
        after[#after + 1] = at
        after[#after + 1] = units
        after[#after + 1] = holder
        isIn = true
      end
      local ownCell = ((taken <= t - from - ((p[4] == 2 and 0 or p[5]))) and math_floor(taken / cell) or -i)
      local last = #after - 3
      if ownCell == olderCell then
        after[last + 1] = taken
        after[last + 2] = (after[last + 2]) + (s[i + 2])
        after[4] = 4503599627370496
      else
        after[#after + 1] = taken
        after[#after + 1] = s[i + 2]
        after[#after + 1] = s[i + 3]
      end
      olderCell = ownCell
    end
  end
  local last = #after - 3
  local isFull = last >= 4 + 3 * (1000 - 1)
  if p[4] ~= 2 and last >= 4 and (after[last + 1] == at or isFull) then
    after[last + 1] = at
    after[last + 2] = (after[last + 2]) + units
  elseif not isIn then
    after[#after + 1] = at
    after[#after + 1] = units
    after[#after + 1] = holder
  end
  return after
end

-- A log gives back the units that a decision took at its instant, or its newest units without one; concurrency gives
-- back a whole slot.
local function slots_give(p, s, units, until_, t, holder)
  local own = slots_slotOf(p, s, units, t, holder)
  local since = t - (s[1] - s[2]) - ((p[4] == 2 and 0 or p[5]))
  local decided = until_ - (s[1] - s[2]) - ((p[4] == 2 and 0 or p[5]))
  local rest = units
  for i = #s - 3, 4, -3 do
    local at = s[i + 1]
    if ((p[4] == 2) and (i == own) or not (p[4] == 2) and (at > since and (until_ == 0 or at == decided))) then
      local given = math_min(s[i + 2], rest)
      s[i + 2] = (s[i + 2]) - given
      rest = rest - given
    end
  end
  if rest == units then
    return s
  end
  local after = { t, t - (s[1] - s[2]), s[3], s[4] }
  for i = 4, #s - 1, 3 do
    if (s[i + 2]) > 0 then
      after[#after + 1] = s[i + 1]
      after[#after + 1] = s[i + 2]
      after[#after + 1] = s[i + 3]
    end
  end
  return (#after > 4 and after or {})
end

local function slots_left(p, s, t)
  if #s == 0 or p[4] == 2 or ((p[4] == 2 and 0 or p[5])) >= s[3] then
    return p[1] - slots_used(p, s, t)
  end
  local units = 0
  local room = p[1]
  for i = #s - 3, 4, -3 do
    units = units + s[i + 2]
    local age = t - (s[1] - s[2]) - (s[i + 1])
    room = math_min(room, numbers_roomAt(age, p[1], ((p[4] == 2 and 0 or p[5])), s[4], s[3]) - units)
  end
  return room
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
  local freeAt = part.f.freeAt(p, part.s, needed, now, part.holder)
  local wait = ((freeAt < part.endsAt and freeAt or part.endsAt)) - now
  return (wait > blocked and wait or blocked)
end

-- How many ms until a request that a leaky bucket allows may start.
local function decide_delayOf(part, now)
  if part.wait ~= 0 or #part.s == 0 or part.cost == 0 then
    return 0
  end
  return math_max(part.f.emptyAt(part.p, part.s) - now, 0)
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
        if part.f.move(part.s, now) and op ~= 1 then
          part.changed = true
          if part.blocked <= now then
            part.blocked = 0
          end
        end
      end
      part.endsAt = part.f.endsAt(part.s)
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
        part.s = part.f.add(part.p, part.s, part.cost, 0, now, part.holder)
        part.changed = true
        if part.blocked <= now then
          part.blocked = 0
        end
      end
    end
  end
  return allowed
end

-- Edits one key, and writes it only if it has a state of this kind or gets one. `until` is when the refunded or charged
-- units expire, or how many ms a block lasts: 0 ends it. A block with a cost also resets the key. Units that a reset
-- dropped are neither refunded nor charged further: except for slots, `holder` is when the units were taken.
local function decide_change(part, op, until_, now)
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
      if part.f.move(part.s, now) and op ~= 1 then
        part.changed = true
        if part.blocked <= now then
          part.blocked = 0
        end
      end
    end
    part.endsAt = part.f.endsAt(part.s)
    if part.endsAt <= now then
      part.s = {}
    end
  end
  local hadState = #part.s > 0
  local isSlot = part.p[4] == 2
  local holder = (isSlot and part.holder or 0)
  local isForgotten = not isSlot and part.holder > 0 and part.holder <= part.resetAt and part.resetAt <= now
  local isSurelyForgotten = isForgotten and part.holder < part.resetAt
  part.wait = 0
  part.delay = 0
  if op == 3 and hadState and not isForgotten then
    part.s = part.f.give(part.p, part.s, part.cost, until_, now, holder)
  end
  if op == 4 and not isSurelyForgotten then
    local units = math_min(part.cost, 4503599627370496 - part.f.used(part.p, part.s, now))
    if units > 0 then
      part.s = part.f.add(part.p, part.s, units, until_, now, holder)
    end
  end
  if op == 5 or (op == 6 and part.cost > 0) then
    part.s = {}
    if hadState and not isSlot then
      part.resetAt = now
      part.resetEnd = math_max(part.resetEnd, part.endsAt)
    end
  end
  if op == 6 then
    part.blocked = (until_ > 0 and now + until_ or 0)
  end
  if op == 7 then
    local after = part.f.add(part.p, part.s, part.cost, 1, now, holder)
    if after == part.s then
      part.wait = -1
    end
    part.s = after
  end
  if #part.s > 0 or hadState or op == 5 or op == 6 then
    part.changed = true
    if part.blocked <= now then
      part.blocked = 0
    end
  end
end

local function decide_figures(part, now)
  local p = part.p
  local s = part.s
  local blocked = math_max(part.blocked - now, 0)
  local used = math_min((#s == 0 and 0 or part.f.used(p, s, now)), 9007199254740991)
  local remaining = (blocked > 0 and 0 or math_max(part.f.left(p, s, now), 0))
  local end_ = (#s == 0 and now or part.f.endsAt(s))
  local reset = (#s == 0 and 0 or math_max(math_min(part.f.emptyAt(p, s), end_) - now, 0))
  local nextAfter = ((p[1] > 0 and blocked > 0) and blocked or -1)
  if p[4] ~= 2 and p[1] > 0 and #s > 0 and (blocked > 0 or (used > 0 and remaining < p[1])) then
    nextAfter = math_max(math_min(part.f.freeAt(p, s, remaining + 1, now, 0), end_) - now, blocked)
  end
  return { (part.wait == 0 and 1 or 0), remaining, used, part.wait, math_max(reset, blocked), nextAfter, part.delay, blocked }
end

local window = {
  reads = window_reads,
  endsAt = window_endsAt,
  freeAt = window_freeAt,
  move = window_move,
  emptyAt = window_emptyAt,
  add = window_add,
  give = window_give,
  used = window_used,
  left = window_left,
}
local interval = {
  reads = interval_reads,
  endsAt = interval_endsAt,
  freeAt = interval_freeAt,
  move = interval_move,
  emptyAt = interval_emptyAt,
  add = interval_add,
  give = interval_give,
  used = interval_used,
  left = interval_left,
}
local debt = {
  reads = debt_reads,
  endsAt = debt_endsAt,
  freeAt = debt_freeAt,
  move = debt_move,
  emptyAt = debt_emptyAt,
  add = debt_add,
  give = debt_give,
  used = debt_used,
  left = debt_left,
}
local blocks = {
  reads = blocks_reads,
  endsAt = blocks_endsAt,
  freeAt = blocks_freeAt,
  move = blocks_move,
  emptyAt = blocks_emptyAt,
  add = blocks_add,
  give = blocks_give,
  used = blocks_used,
  left = blocks_left,
}
local counter = {
  reads = counter_reads,
  endsAt = counter_endsAt,
  freeAt = counter_freeAt,
  move = counter_move,
  emptyAt = counter_emptyAt,
  add = counter_add,
  give = counter_give,
  used = counter_used,
  left = counter_left,
}
local slots = {
  reads = slots_reads,
  endsAt = slots_endsAt,
  freeAt = slots_freeAt,
  move = slots_move,
  emptyAt = slots_emptyAt,
  add = slots_add,
  give = slots_give,
  used = slots_used,
  left = slots_left,
}
local families = { f = window, i = interval, t = debt, l = debt, s = blocks, c = counter, g = slots, h = slots }
local tells_figures = string.find(ARGV[1], "[gh]") ~= nil

-- Adds events, each of two arguments, to the lines of the timeline, as events/put-lines.lua writes them: the newest first, at
-- most a thousand and a megabyte. What makes this fail is no reason to fail the change: the process writes them later.
local function add_events(key, now, first, last)
  local lines, week_ms = redis.pcall("GET", key) or "", 604800000
  if type(lines) == "string" then
    local added, cut = {}, 0
    for i = last - 1, first, -2 do
      added[#added + 1] = string.format('%.0f %s {"atMs":%.0f,%s\n', now + week_ms, ARGV[i], now, ARGV[i + 1])
    end
    lines = table.concat(added) .. lines
    for _ = 1, 1000 do
      cut = cut and string.find(lines, "\n", cut + 1, true)
    end
    redis.pcall("SET", key, string.sub(lines, 1, math.min(cut or #lines, 1048576)), "PX", week_ms)
  end
end

-- KEYS     the keys of the requests, one after the other: a key that several requests name stands there several times
-- ARGV[1]  the letter of each policy's kind
-- ARGV[2]  JSON: a list of the numbers of each policy, and at last a list of runs of requests that differ in their keys
--          alone: op, how often each is asked (of an edit: until), how many they are, the number of keys of each, and for
--          each of these the index of its policy, its cost and its holder. A policy alone: a unit is taken from each key
-- ARGV[3]  only in tests: the instant
-- ARGV[4]  and on: the events of edits, in pairs: a name, and the text from after the instant. The last key is then the
--          timeline's list. If a value of any edit is no state, no event is written: the process writes the others later
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
local BLOCK = 6
local unpack = table.unpack or unpack -- Lua 5.4 or 5.1
-- A global takes two look-ups, a local none.
local match, format = string.match, string.format
-- The figures of each key of a request, with commas between, and semicolons between keys.
local function write_figures(parts, bad)
  local lines = {}
  for j = 1, #parts do
    lines[j] = bad and "!" or format("%d,%d,%d,%d,%d,%d,%d,%d", unpack(decide_figures(parts[j], now)))
  end
  return table.concat(lines, ";")
end
local policies, parts, formats, key, at = cjson.decode(ARGV[2]), {}, {}, 0, 1
local is_done = true
local reply, runs = { format("%d", now) }, policies[2] and policies[#policies] or { 0, 1, #KEYS, 1, 1, 1, 0 }

while at <= #runs do
  local op, times, requests, keys = runs[at], runs[at + 1], runs[at + 2], runs[at + 3]
  local until_ = times
  times = op > 2 and 1 or times
  at = at + 4
  for j = keys + 1, #parts do
    parts[j] = nil
  end
  for j = 1, keys do
    local policy = runs[at]
    parts[j] = {
      kind = string.sub(ARGV[1], policy, policy), p = policies[policy], cost = runs[at + 1], one = runs[at + 1], holder = runs[at + 2],
      s = false, blocked = 0, resetAt = 0, resetEnd = 0, keeps_expiry = true, found_end = 0, endsAt = 0, wait = 0, delay = 0, changed = false,
      f = false, other = false, others = false,
    }
    parts[j].f = families[parts[j].kind]
    at = at + 3
  end

  for _ = 1, requests do
    local bad = false
    for j = 1, keys do
      local part = parts[j]
      local value = redis.pcall("GET", KEYS[key + j])
      part.changed, part.blocked, part.resetAt, part.resetEnd, part.keeps_expiry, part.found_end = false, 0, 0, 0, true, 0
      part.other = false
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
          part.other, part.others = kind, part.s
          readable = not part.s[1] or families[kind].reads(part.s)
          part.s = {}
        elseif readable and part.s[1] then
          readable = part.f.reads(part.s)
          part.keeps_expiry = readable and part.keeps_expiry and part.s[1] <= now
          part.found_end = readable and part.f.endsAt(part.s) or 0
        end
        if not readable then
          bad = true
          value = "!"
          is_done = is_done and op < 3
        end
      end
      if not tells_figures then
        reply[#reply + 1] = value
      end
    end

    local left = times
    while left > 0 do
      left = left - 1
      local goes_on = not bad
      if goes_on and op > 2 then
        -- The first of two keys tells whether it was done already: the other is edited if not.
        goes_on = keys == 1 or (decide_decide({ parts[1] }, 0, now) and until_ > now)
        if goes_on then
          decide_change(parts[keys], op, until_, now)
        end
      elseif goes_on then
        goes_on = decide_decide(parts, op, now)
      end
      if tells_figures then
        reply[#reply + 1] = write_figures(parts, bad)
      elseif not goes_on then
        left = 0
      end
    end

    for j = 1, bad and 0 or keys do
      local part = parts[j]
      if part.changed then
        local s, kind, ends_at, text = part.s, part.kind, math_max(part.blocked, part.resetEnd), nil
        local ends_of = part.f.endsAt
        if op == BLOCK and part.other and part.cost == 0 then
          -- A block leaves the state of another kind as it is.
          s, kind, ends_of = part.others, part.other, families[part.other].endsAt
        end
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
          local ends = ends_of(s)
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
if is_done and ARGV[4] then
  add_events(KEYS[#KEYS], now, 4, #ARGV)
end
return table.concat(reply, "\n")
