const matching = (results, group, wanted) => {
  const fields = Object.entries(wanted);
  return (results[group]?.rows ?? []).filter((row) => fields.every(([field, value]) => row[field] === value));
};

export const byMemory = (results, wanted) => matching(results, 'memory', wanted);
export const byRedis = (results, wanted) => matching(results, 'redis', wanted);
export const byScale = (results, wanted) => matching(results, 'scale', wanted);

export const byHttp = (results, wanted) => matching(results, 'http', wanted);

/** The versions of Node that requests were measured on, the oldest first. */
export function nodesOf(results) {
  return valuesOf(results.http?.rows ?? [], 'node').sort((one, other) => Number.parseInt(one) - Number.parseInt(other));
}

/** Every value of a field, in the order in which they were measured. */
export function valuesOf(rows, field) {
  return [...new Set(rows.map((row) => row[field]))];
}
