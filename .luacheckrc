std = "lua51"
read_globals = { "redis", "KEYS", "ARGV" }
max_line_length = 140
