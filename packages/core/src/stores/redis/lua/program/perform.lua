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
