-- Escalation: counts denials and blocks keys after several of them. Twin of denial-count.ts.
local count_denials
if escalates then
  -- Counts a denied request once for each key that denied it. Its parts begin at the argument `from`.
  function count_denials(from, upto)
    read_states(from, upto) -- all of them before any is counted
    for part_at = from, upto - 1, has_external and 4 or 3 do
      local key = tonumber(ARGV[part_at])
      local plan = denied[key]
      if plan then
        denied[key] = nil
        local before = denials[key]
        local count, blocks, forgotten_at_ms = 0, 0, 0
        if before and before[3] > now_ms then
          count, blocks, forgotten_at_ms = before[1], before[2], before[3]
        end
        count = count + 1
        local last_ms = now_ms
        blocked_until_ms[key] = 0
        if count >= plan.denials then
          count, blocks = 0, blocks + 1
          last_ms = now_ms + plan.blocks_ms[math.min(blocks, #plan.blocks_ms)]
          blocked_until_ms[key] = last_ms
        end
        denials[key] = { count, blocks, math.max(forgotten_at_ms, last_ms + plan.decay_ms) }
        reset_at_ms[key], plan_of[key] = end_of(plan, texts[key]), plan
      end
    end
  end
end
