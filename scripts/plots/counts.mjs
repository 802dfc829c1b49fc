/** How many units there are from each instant on: every change `[atMs, units]`, taken together and added up. */
export function runningSum(changes) {
  const byInstant = new Map();
  for (const [atMs, units] of changes) byInstant.set(atMs, (byInstant.get(atMs) ?? 0) + units);
  let sum = 0;
  return [...byInstant].sort(([a], [b]) => a - b).map(([atMs, units]) => [atMs, (sum += units)]);
}

/** Units whose instant lies in the span before each instant, as steps: `[from when on, units]`. */
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

/** The longest time in which whoever came was refused: from the first to the last of them. */
export function longestRefusalMs(requests) {
  let longest = 0;
  let since;
  for (const { atMs, allowed } of requests) {
    since = allowed ? undefined : (since ?? atMs);
    if (since !== undefined) longest = Math.max(longest, atMs - since);
  }
  return longest;
}
