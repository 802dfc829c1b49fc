import { PolicyError, shown } from './errors.ts';

/** What people who come from another limiter write, and what we call it: the first of these that exists where it was written. */
const KNOWN_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  windowMs: ['window', 'every', 'policy'],
  window: ['every', 'policy'],
  timeWindow: ['window', 'every', 'policy'],
  duration: ['window', 'every', 'policy'],
  ttl: ['window', 'every', 'policy'],
  interval: ['window', 'every', 'policy'],
  per: ['window', 'every', 'policy'],
  refillInterval: ['every'],
  limit: ['capacity', 'policy'],
  max: ['limit', 'capacity', 'policy'],
  points: ['limit', 'capacity', 'policy'],
  requests: ['limit', 'capacity', 'policy'],
  quota: ['limit', 'capacity', 'policy'],
  burst: ['capacity'],
  maxTokens: ['capacity'],
  refillRate: ['refill'],
  algorithm: ['policy'],
  policies: ['policy'],
  weight: ['cost'],
  tokens: ['cost', 'refill'],
  keyGenerator: ['key'],
  id: ['key'],
  keyPrefix: ['prefix', 'name'],
  standardHeaders: ['headers'],
  legacyHeaders: ['headers'],
  handler: ['onDenied'],
  message: ['onDenied'],
  statusCode: ['onDenied'],
  errorResponseBuilder: ['onDenied'],
  skipOnError: ['onStoreError'],
  passOnStoreError: ['onStoreError'],
  redis: ['store'],
  client: ['store'],
  timeout: ['timeoutMs'],
  maxSize: ['maxKeys'],
};
/** How to write some of them, where the name alone does not say it. */
const WRITTEN_AS: Readonly<Record<string, string>> = { policy: 'policy: fixedWindow({ limit: 100, window: "1m" })' };

/**
 * Refuses options that do not exist, and says which one was probably meant.
 *
 * @throws PolicyError with `SLUICE_OPTION_UNKNOWN`, or `SLUICE_OPTION_INVALID` when `options` is not an object.
 */
export function checkOptions(options: unknown, known: readonly string[], where: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new PolicyError(
      where,
      `${where} takes an object with ${listed(known)}, got ${shown(options)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    const hint =
      meant === undefined ? `known: ${listed(known)}` : `did you mean ${WRITTEN_AS[meant] ?? JSON.stringify(meant)}?`;
    throw new PolicyError(
      name,
      `${where} has no option ${JSON.stringify(name)} (got ${shown((options as Readonly<Record<string, unknown>>)[name])}); ${hint}`,
      'SLUICE_OPTION_UNKNOWN',
    );
  }
}

/** The one of `known` that `name` probably stands for, if any is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const elsewhere = Object.hasOwn(KNOWN_ELSEWHERE, name) ? KNOWN_ELSEWHERE[name] : undefined;
  const same = elsewhere?.find((candidate) => known.includes(candidate));
  if (same !== undefined) return same;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Names as a sentence lists them. */
export function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}

/** Levenshtein's distance, row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
