const matching = (results, group, wanted) =>
  (results[group]?.rows ?? []).filter((row) => Object.entries(wanted).every(([field, value]) => row[field] === value));

export const byMemory = (results, wanted) => matching(results, 'memory', wanted);
export const byRedis = (results, wanted) => matching(results, 'redis', wanted);
export const byScale = (results, wanted) => matching(results, 'scale', wanted);

/** @param onOtherNode - Whether those of the second Node are wanted, where Express ran on one. */
export function byHttp(results, { onOtherNode = false, ...wanted }) {
  const own = results.http?.machine.node;
  return matching(results, 'http', wanted).filter(({ node }) => (node !== own) === onOtherNode);
}

/** Every value of a field, in the order in which they were measured. */
export function valuesOf(rows, field) {
  return [...new Set(rows.map((row) => row[field]))];
}
