-- KEYS     the keys of the requests, one after the other: a key that several requests name stands there several times
-- ARGV[1]  the letter of each policy's kind
-- ARGV[2]  JSON: a list of the numbers of each policy, and at last a list of runs of requests that differ in their keys
--          alone: op, how often each is asked (of an edit: until), how many they are, the number of keys of each, and for
--          each of these the index of its policy, its cost and its holder. A policy alone: a unit is taken from each key
-- ARGV[3]  only in tests: the instant
-- ARGV[4]  and on: the events of edits, in pairs: a name, and the text from after the instant. The last key is then the -- only all
--          timeline's list. If a value of any edit is no state, no event is written: the process writes the others later -- only all
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
local BLOCK = 6 -- only all
local unpack = table.unpack or unpack -- Lua 5.4 or 5.1
-- A global takes two look-ups, a local none.
local match, format = string.match, string.format
-- The figures of each key of a request, with commas between, and semicolons between keys. -- only figures
local function write_figures(parts, bad) -- only figures
  local lines = {} -- only figures
  for j = 1, #parts do -- only figures
    lines[j] = bad and "!" or format("%d,%d,%d,%d,%d,%d,%d,%d", unpack(decide_figures(parts[j], now))) -- only figures
  end -- only figures
  return table.concat(lines, ";") -- only figures
end -- only figures
local policies, parts, formats, key, at = cjson.decode(ARGV[2]), {}, {}, 0, 1
local is_done = true -- only all
local reply, runs = { format("%d", now) }, policies[2] and policies[#policies] or { 0, 1, #KEYS, 1, 1, 1, 0 }

while at <= #runs do
  local op, times, requests, keys = runs[at], runs[at + 1], runs[at + 2], runs[at + 3]
  local until_ = times -- only all
  times = op > 2 and 1 or times -- only all
  at = at + 4
  for j = keys + 1, #parts do
    parts[j] = nil
  end
  for j = 1, keys do
    local policy = runs[at]
    parts[j] = {
      kind = string.sub(ARGV[1], policy, policy), p = policies[policy], cost = runs[at + 1], one = runs[at + 1], holder = runs[at + 2],
      s = false, blocked = 0, resetAt = 0, resetEnd = 0, keeps_expiry = true, found_end = 0, endsAt = 0, wait = 0, delay = 0, changed = false,
      f = false, other = false, others = false, -- only all
    }
    parts[j].f = families[parts[j].kind] -- only all
    at = at + 3
  end

  for _ = 1, requests do
    local bad = false
    for j = 1, keys do
      local part = parts[j]
      local value = redis.pcall("GET", KEYS[key + j])
      part.changed, part.blocked, part.resetAt, part.resetEnd, part.keeps_expiry, part.found_end = false, 0, 0, 0, true, 0
      part.other = false -- only all
      if not value then
        value = "" -- only values
        part.s = {}
      else
        local readable, kind = false, nil
        if type(value) == "string" then
          local a, b, c, d, e, numbers -- only short
          kind, a, b, c, d, e = match(value, "^([fitlscgh])1(%d+),(%d+),(%d+),(%d+)(,?%d*)$") -- only short
          if e == "" then -- only short
            readable, part.s = true, { a + 0, b + 0, c + 0, d + 0 } -- only short
          elseif e and e ~= "," then -- only short
            readable, part.s = true, { a + 0, b + 0, c + 0, d + 0, string.sub(e, 2) + 0 } -- only short
          end -- only short
          local numbers -- only long
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
          part.other, part.others = kind, part.s -- only all
          readable = not part.s[1] or families[kind].reads(part.s) -- only all
          readable = not part.s[1] or is_state(kind, part.s) -- only one
          part.s = {}
        elseif readable and part.s[1] then
          readable = part.f.reads(part.s)
          part.keeps_expiry = readable and part.keeps_expiry and part.s[1] <= now
          part.found_end = readable and part.f.endsAt(part.s) or 0
        end
        if not readable then
          bad = true
          value = "!" -- only values
          is_done = is_done and op < 3 -- only all
        end
      end
      if not tells_figures then -- only all
        reply[#reply + 1] = value -- only all
      end -- only all
      reply[#reply + 1] = value -- only one, values
    end

    local left = times
    -- Equal asks that fit together are one ask for their sum, unless a policy has an overdraft. -- only one, values
    local is_sum = times > 1 and op ~= 1 and not bad -- only one, values
    for j = 1, is_sum and keys or 0 do -- only one, values
      is_sum, parts[j].cost = is_sum and parts[j].p[2] == 0, parts[j].one * times -- only one, values
    end -- only one, values
    if is_sum and decide_decide(parts, 2, now) then -- only one, values
      left = 0 -- only one, values
    end -- only one, values
    for j = 1, keys do -- only one, values
      parts[j].cost = parts[j].one -- only one, values
    end -- only one, values
    while left > 0 do
      left = left - 1
      if bad or not decide_decide(parts, op, now) then -- only one, values
        left = 0 -- only one, values
      end -- only one, values
      if not bad then -- only one, figures
        decide_decide(parts, op, now) -- only one, figures
      end -- only one, figures
      local goes_on = not bad -- only all
      if goes_on and op > 2 then -- only all
        -- The first of two keys tells whether it was done already: the other is edited if not. -- only all
        goes_on = keys == 1 or (decide_decide({ parts[1] }, 0, now) and until_ > now) -- only all
        if goes_on then -- only all
          decide_change(parts[keys], op, until_, now) -- only all
        end -- only all
      elseif goes_on then -- only all
        goes_on = decide_decide(parts, op, now) -- only all
      end -- only all
      if tells_figures then -- only all
        reply[#reply + 1] = write_figures(parts, bad) -- only all
      elseif not goes_on then -- only all
        left = 0 -- only all
      end -- only all
      reply[#reply + 1] = write_figures(parts, bad) -- only one, figures
    end

    for j = 1, bad and 0 or keys do
      local part = parts[j]
      if part.changed then
        local s, kind, ends_at, text = part.s, part.kind, math_max(part.blocked, part.resetEnd), nil
        local ends_of = part.f.endsAt -- only all
        if op == BLOCK and part.other and part.cost == 0 then -- only all
          -- A block leaves the state of another kind as it is. -- only all
          s, kind, ends_of = part.others, part.other, families[part.other].endsAt -- only all
        end -- only all
        local count = #s
        local marks = part.resetAt > 0 and format("-%d,-%d,-%d", math_max(part.blocked, 1), part.resetAt, part.resetEnd)
          or part.blocked > 0 and format("-%d", part.blocked) or ""
        if count == 4 and marks == "" then -- only short
          text = format("%s1%d,%d,%d,%d", kind, s[1], s[2], s[3], s[4]) -- only short
        elseif count > 0 then -- only short
        if count > 0 then -- only long
          formats[count] = formats[count] or "%s1%s%d" .. string.rep(",%d", count - 1)
          text = format(formats[count], kind, marks == "" and "" or marks .. ",", unpack(s))
        elseif marks ~= "" then
          text = kind .. "1" .. marks
        end
        if count > 0 then
          local ends = ends_of(s) -- only all
          local ends = part.f.endsAt(s) -- only one
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
if is_done and ARGV[4] then -- only all
  add_events(KEYS[#KEYS], now, 4, #ARGV) -- only all
end -- only all
return table.concat(reply, "\n")
