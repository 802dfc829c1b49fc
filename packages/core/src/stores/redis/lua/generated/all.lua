-- Made by scripts/build/print-program.mjs from packages/core/src/program: change it there.
local function window_reads(s)
  if #s ~= 3 and #s ~= 5 then
    return false
  end
  if #s == 5 and (s[4] < 1 or s[4] > 9007199254740991 or s[5] < 1 or s[5] > 4398046511104) then
    return false
  end
  if s[1] < 0 or s[1] > 9007199254740991 then
    return false
  end
  return s[2] >= 1 and s[2] <= 4398046511104 and s[3] >= 1 and s[3] <= 4503599627370496
end

local function window_used(p, s, t)
  if #s == 0 then
    return 0
  end
  local end_ = s[1] + s[2]
  if t < end_ then
    return s[3]
  end
  return math.max(s[3] - (math.floor((t - end_) / p[6]) + 1) * p[5], 0)
end

-- The first end of a period after t.
local function window_nextEnd(p, s, t)
  local end_ = s[1] + s[2]
  return (t < end_ and end_ or end_ + (math.floor((t - end_) / p[6]) + 1) * p[6])
end

local function window_freeAt(p, s, units, t)
  local beyond = window_used(p, s, t) + units - p[1]
  return (beyond > 0 and window_nextEnd(p, s, t) + (math.ceil(beyond / p[5]) - 1) * p[6] or t)
end

local function window_emptyAt(p, s)
  return s[1] + s[2] + (math.ceil(s[3] / p[5]) - 1) * p[6]
end

local function window_endsAt(s)
  local end_ = s[1] + s[2]
  return (#s == 5 and end_ + (math.ceil(s[3] / s[4]) - 1) * s[5] or end_)
end

local function window_written(p, s, units, t)
  if p[8] ~= 1 then
    local end_ = window_nextEnd(p, s, t)
    if end_ > s[1] + s[2] then
      s[1] = end_ - p[6]
      s[2] = p[6]
    end
    s[4] = p[5]
    s[5] = p[6]
  end
  s[3] = units
  return s
end

local function window_add(p, s, units, until_, t)
  local before = window_used(p, s, t)
  local isGone = p[8] == 1 and until_ > 0 and (before == 0 or s[1] + s[2] ~= until_)
  local max = (p[8] == 1 and 4503599627370496 or math.min(math.floor(4503599627370496 / p[6]) * p[5], 4503599627370496))
  local after = math.min(before + units, max)
  if isGone or after <= before then
    return s
  end
  if before == 0 and p[8] == 1 then
    return { (p[7] == 1 and t - (t % p[6]) or t), p[6], after }
  end
  if before == 0 then
    return { t, p[6], after, p[5], p[6] }
  end
  if p[8] == 1 then
    s[2] = math.max(s[2], p[6])
  end
  return window_written(p, s, after, t)
end

-- The state of a key that is as if never used.
local function numbers_unused()
  return {}
end

local function window_give(p, s, units, until_, t)
  local before = window_used(p, s, t)
  if before == 0 or (p[8] == 1 and until_ > 0 and s[1] + s[2] ~= until_) then
    return s
  end
  return (before > units and window_written(p, s, before - units, t) or numbers_unused())
end

local function window_left(p, s, t)
  return p[1] - window_used(p, s, t)
end

local function debt_reads(s)
  local isOwed = #s == 4 and s[2] >= 1 and s[2] <= 4503599627370496
  return (isOwed and s[1] >= 0 and s[1] <= 9007199254740991 and s[3] >= 1 and s[3] <= 4398046511104 and s[4] >= 1 and s[4] <= 4503599627370496)
end

-- `count * to / from`, rounded up, and at most MAX_COUNT. Both periods are at most MAX_PERIOD; the product need not be exact.
local function numbers_scaleUp(count, to, from)
  local whole = math.floor(count / from)
  local rest = count - whole * from
  local scaled = 0
  local left = 0
  for place = 4, 0, -1 do
    local digit = math.floor(to / 1024 ^ place) % 1024
    left = left * 1024 + digit * rest
    local times = math.floor(left / from)
    left = left - (times * from)
    scaled = scaled * 1024 + times
  end
  if left > 0 then
    scaled = scaled + 1
  end
  return math.min(whole * to + scaled, 4503599627370496)
end

local function debt_owed(p, s, t)
  if #s == 0 then
    return 0
  end
  local debt = (s[3] == p[6] and s[2] or numbers_scaleUp(s[2], p[6], s[3]))
  return math.max(debt - (t - s[1]) * p[5], 0)
end

local function debt_freeAt(p, s, units, t)
  local beyond = debt_owed(p, s, t) + units * p[6] - p[7]
  return (beyond > 0 and t + math.ceil(beyond / p[5]) or t)
end

local function debt_emptyAt(p, s)
  return s[1] + math.ceil(debt_owed(p, s, s[1]) / p[5])
end

local function debt_endsAt(s)
  return s[1] + math.ceil(s[2] / s[4])
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
  local more = math.min(units, math.floor((4503599627370496 - before) / p[6]))
  return (more > 0 and debt_written(p, s, before + more * p[6], t) or s)
end

local function debt_give(p, s, units, until_, t)
  local before = debt_owed(p, s, t)
  if before == 0 or (p[4] == 1 and until_ > 0 and until_ ~= debt_emptyAt(p, s)) then
    return s
  end
  if math.ceil(before / p[6]) <= units then
    return numbers_unused()
  end
  return debt_written(p, s, before - units * p[6], t)
end

local function debt_used(p, s, t)
  return math.ceil(debt_owed(p, s, t) / p[6])
end

local function debt_left(p, s, t)
  return math.floor((p[7] - debt_owed(p, s, t)) / p[6])
end

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

local function blocks_left(p, s, t)
  return p[1] - blocks_used(p, s, t)
end

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

local function counter_left(p, s, t)
  return p[1] - counter_used(p, s, t)
end

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
  return math.max(part.f.freeAt(part.p, part.s, needed, part.t, part.holder) - part.t, blocked)
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
      part.delay = math.max(part.f.emptyAt(part.p, part.s) - part.t, 0)
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
        part.s = part.f.add(part.p, part.s, part.cost, 0, now, part.holder)
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
    part.s = part.f.give(part.p, part.s, part.cost, until_, now, part.holder)
  end
  if op == 4 then
    part.s = part.f.add(part.p, part.s, part.cost, until_, now, part.holder)
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
    local after = part.f.add(part.p, part.s, part.cost, 1, now, part.holder)
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
  local used = f.used(p, s, t)
  local remaining = (blocked > 0 and 0 or math.max(f.left(p, s, t), 0))
  local reset = (#s == 0 and 0 or math.max(f.emptyAt(p, s) - t, 0))
  local next = -1
  if p[4] == 2 then
    if p[1] > 0 and blocked > 0 then
      next = blocked
    end
  elseif p[1] > 0 and (blocked > 0 or (used > 0 and remaining < p[1])) then
    next = math.max(f.freeAt(p, s, remaining + 1, t, 0) - t, blocked)
  end
  return { (part.allowed and 1 or 0), remaining, used, part.wait, math.max(reset, blocked), next, part.delay, blocked }
end

local window = {
  reads = window_reads,
  freeAt = window_freeAt,
  emptyAt = window_emptyAt,
  endsAt = window_endsAt,
  add = window_add,
  give = window_give,
  used = window_used,
  left = window_left,
}
local debt = {
  reads = debt_reads,
  freeAt = debt_freeAt,
  emptyAt = debt_emptyAt,
  endsAt = debt_endsAt,
  add = debt_add,
  give = debt_give,
  used = debt_used,
  left = debt_left,
}
local blocks = {
  reads = blocks_reads,
  freeAt = blocks_freeAt,
  emptyAt = blocks_emptyAt,
  endsAt = blocks_endsAt,
  add = blocks_add,
  give = blocks_give,
  used = blocks_used,
  left = blocks_left,
}
local counter = {
  reads = counter_reads,
  freeAt = counter_freeAt,
  emptyAt = counter_emptyAt,
  endsAt = counter_endsAt,
  add = counter_add,
  give = counter_give,
  used = counter_used,
  left = counter_left,
}
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
local families = { f = window, i = window, t = debt, l = debt, s = blocks, c = counter, g = slots, h = slots }

local tells_figures = string.find(ARGV[1], "[gh]") ~= nil
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
