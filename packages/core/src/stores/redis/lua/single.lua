--[[
The usual call: one request of cost 1 for one key of one policy, decided before anything is made that only several
keys need. batch.lua decides it the same way. When the value cannot be read as one state alone, this part writes
nothing, and batch.lua reads the value again.

The script begins with `kinds` (ARGV[1]) and the table `algorithms`; then come instant-and-field.lua (LATEST_MS), the
kernel.lua of each algorithm that kinds names, which adds itself to the table, clock.lua (now_ms), this file, and
batch.lua. scripts/build/lua-parts.mjs lists the parts.

ARGV  the letter of the algorithm, and C for checking; 0 limits; how long to keep the key after its state ends; the
      numbers of the policy
]]
local single = false
if ARGV[2] == "0" then
  local only = algorithms[kinds] or algorithms[string.sub(kinds, 1, 1)]
  -- No kernel here has more numbers. They are written out because a table that grows costs more.
  single = { tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), algorithm = only }
  local value = redis.pcall("GET", KEYS[1])
  local readable, after, ends_at_ms, _, keeps_expiry = pcall(only.decide, single, value, 1, now_ms)
  -- A limit of 0 denies before the value is read, which may be an error.
  if readable and (after or type(value) ~= "table") then
    if after and value and keeps_expiry then
      redis.call("SET", KEYS[1], after, "KEEPTTL")
    elseif after then
      redis.call("SET", KEYS[1], after, "PXAT", string.format("%d", math.min(ends_at_ms + tonumber(ARGV[3]), LATEST_MS)))
    end
    if #kinds > 1 then
      return { now_ms, value or "", { after and "1" or "0", { after or value or "" } } }
    end
    return { now_ms, value or "" }
  end
end
