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
  whitelist: ['allow'],
  allowList: ['allow'],
  allowlist: ['allow'],
  blacklist: ['deny'],
  denyList: ['deny'],
  denylist: ['deny'],
  skipSuccessfulRequests: ['refund'],
  skipFailedRequests: ['refund'],
  requestWasSuccessful: ['refund'],
  holdMs: ['refund'],
  skipIf: ['skip'],
  dryRun: ['mode'],
  shadow: ['mode'],
  shadowMode: ['mode'],
  reportOnly: ['mode'],
  draft_polli_ratelimit_headers: ['headers'],
  enableDraftSpec: ['headers'],
  addHeaders: ['headers'],
  disableHeader: ['headers'],
  setHeaders: ['headers'],
  identifier: ['name'],
  getTracker: ['key'],
  generateKey: ['key'],
  namespace: ['name'],
  nameSpace: ['name'],
  groupId: ['group', 'name'],
  onLimitReached: ['onDenied'],
  onExceeded: ['onDenied'],
  errorMessage: ['onDenied'],
  insuranceLimiter: ['onStoreError'],
  storage: ['store'],
  storeClient: ['store'],
  db: ['store'],
  throttlers: ['limits'],
};
/** How to write some options, where the name alone does not say it. */
const WRITTEN_AS: Readonly<Record<string, string>> = { policy: 'policy: fixedWindow({ limit: 100, window: "1m" })' };
/** How to write what a name from elsewhere says, where that is more than an option's name. */
const SAID_AS: Readonly<Record<string, string>> = {
  skipSuccessfulRequests: 'refund: "on-success"',
  skipFailedRequests: 'refund: "on-failure"',
  holdMs: 'refund: { when: "on-success", holdMs: 500 }',
  dryRun: 'mode: "report"',
  shadow: 'mode: "report"',
  shadowMode: 'mode: "report"',
  reportOnly: 'mode: "report"',
};
const BLOCKING = 'to refuse a key for a while call limiter.block(key, "1h")';
/** What no option does here, and what does. */
const INSTEAD: Readonly<Record<string, string>> = {
  trustProxy: 'whom to believe about addresses is a setting of the framework itself',
  requestPropertyName: 'the key and the decision are always on the request, as rateLimit',
  ban: BLOCKING,
  blockDuration: BLOCKING,
};

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
    throw new PolicyError(
      name,
      `${where} has no option ${JSON.stringify(name)} (got ${shown((options as Readonly<Record<string, unknown>>)[name])}); ${hintFor(name, known)}`,
      'SLUICE_OPTION_UNKNOWN',
    );
  }
}

function hintFor(name: string, known: readonly string[]): string {
  const instead = of(INSTEAD, name);
  if (instead !== undefined) return instead;
  const meant = nearest(name, known);
  if (meant === undefined) return `known: ${listed(known)}`;
  const said = of(KNOWN_ELSEWHERE, name)?.includes(meant) === true ? of(SAID_AS, name) : undefined;
  return `did you mean ${said ?? of(WRITTEN_AS, meant) ?? JSON.stringify(meant)}?`;
}

/** An entry of a table; names that people give are not looked up among what every object has. */
function of<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** The one of `known` that `name` probably stands for, if any is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const same = of(KNOWN_ELSEWHERE, name)?.find((candidate) => known.includes(candidate));
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
