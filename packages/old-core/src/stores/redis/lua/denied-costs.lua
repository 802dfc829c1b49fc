-- Policies that count what they deny: add the costs of a denied request. Twin of countDenials in decide.ts.
local add_denied_costs
if counts_denied then
  function add_denied_costs(from, upto)
    read_states(from, upto)
    for i = 1, #denied_costs do
      local key, plan, j, cost = denied_costs[i][1], denied_costs[i][2], denied_costs[i][3], denied_costs[i][4]
      local states = split(texts[key], plan.count)
      local after = plan[j].algorithm.charge(plan[j], states[j] ~= "" and states[j], cost, nil, now_ms)
      if after then
        states[j] = after
        texts[key], plan_of[key] = table.concat(states, " "), plan
        reset_at_ms[key] = end_of(plan, texts[key])
      end
    end
  end
end
