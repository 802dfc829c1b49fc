/** The largest weight of a member. The smallest is 1. */
export const HEAVIEST = 1_000_000;

export function isWeight(weight: unknown): weight is number {
  return Number.isInteger(weight) && Number(weight) >= 1 && Number(weight) <= HEAVIEST;
}
