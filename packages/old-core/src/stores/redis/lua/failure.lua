-- Returns the server's message for a command that failed; nil when the script itself failed. Before Redis 7 a failure
-- is text, and the message of a command that the user may not run begins with the line of the script.
local function server_error_of(problem)
  if type(problem) == "table" then
    return problem.err
  end
  local is_text = type(problem) == "string"
  return is_text and (string.find(problem, "^%u+ ") or string.find(problem, "^@")) and problem or nil
end
