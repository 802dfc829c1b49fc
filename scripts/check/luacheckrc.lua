-- What every Redis, Valkey, compatible server and managed service has, and we use: a list to be extended with care.
stds.redis = {
  read_globals = {
    "KEYS",
    "ARGV",
    "add_events", -- printed before the scripts that call it
    "error",
    "ipairs",
    "pairs",
    "pcall",
    "tonumber",
    "type",
    "unpack", -- has another place in Lua 5.4
    redis = { fields = { "call", "pcall" } },
    string = { fields = { "byte", "find", "format", "gmatch", "gsub", "match", "rep", "sub" } },
    math = { fields = { "ceil", "floor", "max", "min" } },
    table = { fields = { "concat", "insert", "remove", "sort", "unpack" } },
    -- Reads a list of digits, commas and signs three times as fast as patterns; its errors are caught.
    cjson = { fields = { "decode" } },
  },
}
std = "redis"
max_line_length = false
-- The functions of a family have the same parameters, whether they need them or not, and stand in a function where states of
-- all kinds are checked; a choice is printed with its opposite.
files["**/generated/"] = { unused_args = false, ignore = { "58", "43" } }
