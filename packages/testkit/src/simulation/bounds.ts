/** Units allowed at an instant of true time. */
export interface Admission {
  readonly atMs: number;
  readonly units: number;
}

/** The most units allowed in any window of the deciding clock. */
export function findMaxPerWindow(admissions: readonly Admission[], windowMs: number): number {
  const windows = new Map<number, number>();
  for (const { atMs, units } of admissions) {
    const index = Math.floor(Math.floor(atMs) / windowMs);
    windows.set(index, (windows.get(index) ?? 0) + units);
  }
  return Math.max(0, ...windows.values());
}

/** The most units allowed in any interval as long as the window. */
export function findMaxPerInterval(admissions: readonly Admission[], windowMs: number): number {
  let [sum, most, oldest] = [0, 0, 0];
  for (const { atMs, units } of admissions) {
    sum += units;
    for (; (admissions[oldest] as Admission).atMs <= atMs - windowMs; oldest++)
      sum -= (admissions[oldest] as Admission).units;
    most = Math.max(most, sum);
  }
  return most;
}

/** The most units allowed in any interval beyond its refill: the least content of a bucket. */
export function findMaxBeyondRefill(admissions: readonly Admission[], unitsPerMs: number): number {
  let [level, most, lastMs] = [0, 0, -Infinity];
  for (const { atMs, units } of admissions) {
    level = (lastMs === -Infinity ? 0 : Math.max(level - unitsPerMs * (atMs - lastMs), 0)) + units;
    most = Math.max(most, level);
    lastMs = atMs;
  }
  return most;
}
