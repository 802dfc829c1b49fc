-- What a command failed with, of a detail say; nil for what failed in the script itself. Before Redis 7 a failure is text,
-- and a command that the user may not run says in which line that was.
local function said_by_server(problem)
  if type(problem) == "table" then
    return problem.err
  end
  local is_text = type(problem) == "string"
  return is_text and (string.find(problem, "^%u+ ") or string.find(problem, "^@")) and problem or nil
end
