/** The value below which this share of all lie. */
export function quantile(values, share) {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(Math.ceil(share * sorted.length), sorted.length) - 1];
}

/** The middle one, or the mean of the two in the middle. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** What stands in the results of several rounds: the middle one, and half of them lie from `low` to `high`. */
export function spreadOf(values) {
  const kept = values.filter((value) => Number.isFinite(value));
  if (kept.length === 0) return undefined;
  return { median: tidy(median(kept)), low: tidy(quantile(kept, 0.25)), high: tidy(quantile(kept, 0.75)) };
}

/** Four digits are more than a measurement holds. */
export function tidy(value) {
  return Number(value.toPrecision(4));
}
