--[[
The usual call: one request of cost 1 for one key of one policy, decided before anything is made that only several
keys need. batch.lua decides it the same way. When the value cannot be read as one state alone, this part writes
nothing, and batch.lua reads the value again.

The script begins with `kinds` (the letters of ARGV[1]) and the table `algorithms`; then come instant-and-field.lua, the
kernel.lua of each algorithm that kinds names, which adds itself to the table, clock.lua (now_ms, LATEST_MS), this
file, and batch.lua. scripts/build/lua-parts.mjs lists the parts.

ARGV  one text (ADR 99), with spaces between: the letter of the algorithm, and C for checking; how long to keep the key
      after its state ends; the numbers of the policy
]]
local single = false
if #kinds < #ARGV[1] then
  local only = algorithms[kinds] or algorithms[string.sub(kinds, 1, 1)]
  -- No kernel here has more numbers. They are written out because a table that grows costs more.
  local kept_ms, a, b, c, d = string.match(ARGV[1], " (%S+) (%S+) ?(%S*) ?(%S*) ?(%S*)$")
  single = { tonumber(a), tonumber(b), tonumber(c), tonumber(d), algorithm = only, kept_ms = kept_ms }
  local value = redis.pcall("GET", KEYS[1])
  local readable, after, ends_at_ms, _, keeps_expiry = pcall(only.decide, single, value, 1, now_ms)
  -- A limit of 0 denies before the value is read: it may be an error, or look like a failure in the reply.
  if readable and (after or not value or type(value) == "string" and string.byte(value) ~= 45) then -- -
    if after and value and keeps_expiry then
      redis.call("SET", KEYS[1], after, "KEEPTTL")
    elseif after then
      redis.call("SET", KEYS[1], after, "PXAT", string.format("%d", math.min(ends_at_ms + tonumber(kept_ms), LATEST_MS)))
    end
    local text = string.format("%d\n", now_ms) .. (value or "")
    if #kinds > 1 then
      return { text, { after and "1" or "0", { after or value or "" } } }
    end
    return text
  end
end
