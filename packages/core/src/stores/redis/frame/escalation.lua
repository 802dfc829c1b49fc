-- Escalation: refusals that are counted, and the blocks they lead to. Twin of escalation.ts.
local count_refusals
if escalates then
  -- Counts a request that was refused, of the parts from here on, once for each key that refused it.
  function count_refusals(from, upto)
    for place = from, upto - 1, has_details and 4 or 3 do
      reading = tonumber(ARGV[place])
      end_of(plans[tonumber(ARGV[place + 1])], texts[reading]) -- all of them, before any is counted
    end
    for place = from, upto - 1, has_details and 4 or 3 do
      local key = tonumber(ARGV[place])
      local plan = refused[key]
      if plan then
        refused[key] = nil
        local before = refusals[key]
        local count, blocks, forgotten_at_ms = 0, 0, 0
        if before and before[3] > now_ms then
          count, blocks, forgotten_at_ms = before[1], before[2], before[3]
        end
        count = count + 1
        local last_ms = now_ms
        blocked_until_ms[key] = 0
        if count >= plan.refusals then
          count, blocks = 0, blocks + 1
          last_ms = now_ms + plan.blocks_ms[math.min(blocks, #plan.blocks_ms)]
          blocked_until_ms[key] = last_ms
        end
        refusals[key] = { count, blocks, math.max(forgotten_at_ms, last_ms + plan.decay_ms) }
        reset_at_ms[key], plan_of[key] = end_of(plan, texts[key]), plan
      end
    end
  end
end
