--[[
The usual call: one request of cost 1 for one key of one policy, as runs.lua decides it, before anything is made that only
several need. Where the value is not what it usually is, runs.lua reads it anew: nothing has been written then.

ARGV  the letter of the algorithm, and C for checking; 0, for there is no list of limits; how long to keep the key when it is
      over; the numbers of the policy
]]
local alone = false
if ARGV[2] == "0" then
  local only = algorithms[kinds] or algorithms[string.sub(kinds, 1, 1)]
  -- No kernel here has more numbers; written out, for a table that grows costs more.
  alone = { tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), algorithm = only }
  local value = redis.pcall("GET", KEYS[1])
  -- A request of cost 1 is refused by what was read, never before.
  local readable, after, over_at_ms, _, lasts = pcall(only.decide, alone, value, 1, now_ms)
  if readable then
    if after and value and lasts then
      redis.call("SET", KEYS[1], after, "KEEPTTL")
    elseif after then
      redis.call("SET", KEYS[1], after, "PXAT", string.format("%d", math.min(over_at_ms + tonumber(ARGV[3]), LATEST_MS)))
    end
    if #kinds > 1 then
      return { now_ms, value or "", { after and "1" or "0", { after or value or "" } } }
    end
    return { now_ms, value or "" }
  end
end
