/** Rows of a scene with its own table are found only by the name of the scene. */
const matching = (results, group, wanted) => {
  const fields = Object.entries({ scene: undefined, ...wanted });
  return (results[group]?.rows ?? []).filter((row) => fields.every(([field, value]) => row[field] === value));
};

export const byMemory = (results, wanted) => matching(results, 'memory', wanted);
export const byRedis = (results, wanted) => matching(results, 'redis', wanted);
export const byScale = (results, wanted) => matching(results, 'scale', wanted);

/** A row of a contender of the service, by its scene. */
export const byService = (results, wanted) => matching(results, 'service', wanted);

/** @param onOtherNode - Whether to return the rows of the second Node, when Express ran on one. */
export function byHttp(results, { onOtherNode = false, ...wanted }) {
  const own = results.http?.machine.node;
  return matching(results, 'http', wanted).filter(({ node }) => (node !== own) === onOtherNode);
}

/** Every value of a field, in the order in which they were measured. */
export function valuesOf(rows, field) {
  return [...new Set(rows.map((row) => row[field]))];
}
