/** The value below which this share of all values is. */
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

/** The figure of several rounds: the median, and the range from `low` to `high` that holds half of them. */
export function spreadOf(values) {
  const kept = values.filter((value) => Number.isFinite(value));
  if (kept.length === 0) return undefined;
  return { median: tidy(median(kept)), low: tidy(quantile(kept, 0.25)), high: tidy(quantile(kept, 0.75)) };
}

/** Four digits are more than the accuracy of a measurement. */
export function tidy(value) {
  return Number(value.toPrecision(4));
}

/** The ratio of times: the time of this one divided by that of the floor. */
export function inverse({ median: middle, low, high }) {
  return { median: tidy(1 / middle), low: tidy(1 / high), high: tidy(1 / low) };
}
