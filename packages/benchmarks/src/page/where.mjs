/** When and on what, a line for each run. */
export function whereMeasured(results) {
  const lines = Object.values(results).map(({ group, date, mode, rounds, machine }) => {
    const { cpu, cores, memoryGb, os, node, redis, pinned } = machine;
    return (
      `- ${group}: ${date}, ${rounds} rounds${mode === 'full' ? '' : ` (${mode})`}, Node ${node}, Redis ${redis}, ` +
      `${cpu}, ${cores} cores, ${memoryGb} GB, ${os}, ${pinned ? 'held to cores' : 'not held to cores'}`
    );
  });
  return lines;
}
