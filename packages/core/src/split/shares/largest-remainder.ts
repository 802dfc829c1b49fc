/** A member and its weight. */
export type Member = readonly [id: string, weight: number];

/**
 * The share of one member in whole units, by the method of the largest remainder: each member gets its part rounded
 * down, and the remaining units go, one each, to the members with the largest remainders (by id if equal). The shares
 * of all members add up to exactly `units`.
 */
export function getMemberShare(units: number, members: readonly Member[], id: string): number {
  const total = members.reduce((sum, [, weight]) => sum + BigInt(weight), 0n);
  let left = BigInt(units);
  const parts = members.map(([name, weight]) => {
    const product = BigInt(units) * BigInt(weight);
    const part = product / total;
    left -= part;
    return { name, part, remainder: product % total };
  });
  const own = parts.find(({ name }) => name === id);
  if (own === undefined) return 0;
  const before = parts.filter(
    ({ name, remainder }) => remainder > own.remainder || (remainder === own.remainder && name < id),
  ).length;
  return Number(own.part) + (BigInt(before) < left ? 1 : 0);
}

/** `units * weight / total`, rounded down. Exact, even if the product does not fit a double. */
export function getFlooredShare(units: number, weight: number, total: number): number {
  return Number((BigInt(units) * BigInt(weight)) / BigInt(total));
}
