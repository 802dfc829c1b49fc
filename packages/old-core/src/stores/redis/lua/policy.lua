-- Reads a policy as write-policy.ts writes it: the kind of its algorithm, and its numbers.
local at -- the next argument to read

local function read_policy()
  local algorithm = algorithms[ARGV[at]]
  local policy = { algorithm = algorithm }
  for k = 1, algorithm.arity do
    policy[k] = tonumber(ARGV[at + k])
  end
  at = at + 1 + algorithm.arity
  return policy
end
