/** A member and its weight. */
export type Member = readonly [id: string, weight: number];

/**
 * The share of one member of so many units, in whole units, by largest remainder: everybody gets its part rounded down,
 * and what is left goes one by one to those who lost most by that; equals in the order of their ids. The shares of all
 * add up to the units exactly.
 */
export function shareOfMember(units: number, members: readonly Member[], id: string): number {
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

/** So many units times `weight / total`, rounded down: exact where the product is no double. */
export function floorShare(units: number, weight: number, total: number): number {
  return Number((BigInt(units) * BigInt(weight)) / BigInt(total));
}
