/** The number of units from each instant on: the sum of all changes `[atMs, units]` until then. */
export function runningSum(changes) {
  const byInstant = new Map();
  for (const [atMs, units] of changes) byInstant.set(atMs, (byInstant.get(atMs) ?? 0) + units);
  let sum = 0;
  return [...byInstant].sort(([a], [b]) => a - b).map(([atMs, units]) => [atMs, (sum += units)]);
}

/** The number of units in the span before each instant, as steps `[atMs, units]`. */
export function inSpan(instants, spanMs) {
  return runningSum(
    instants.flatMap(([atMs, units]) => [
      [atMs, units],
      [atMs + spanMs, -units],
    ]),
  );
}

/** Units a second. */
export function perSecond(instants, seconds) {
  const counts = Array.from({ length: seconds }, () => 0);
  for (const [atMs, units] of instants) {
    const second = Math.floor(atMs / 1000);
    if (second < seconds) counts[second] += units;
  }
  return counts;
}

export function largest(steps) {
  return Math.max(0, ...steps.map(([, units]) => units));
}

/** The longest time in which every request was denied, from the first of them to the last. */
export function longestDenialMs(requests) {
  let longest = 0;
  let since;
  for (const { atMs, allowed } of requests) {
    since = allowed ? undefined : (since ?? atMs);
    if (since !== undefined) longest = Math.max(longest, atMs - since);
  }
  return longest;
}
