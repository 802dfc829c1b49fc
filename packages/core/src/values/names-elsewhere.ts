import { shown } from '../errors.ts';
import { writtenDuration } from './duration.ts';

/**
 * Option names of other limiters, and former names of options here, with the names to suggest: the first that exists in
 * the place of the option.
 */
const NAMES_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
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
  statusCode: ['status', 'onDenied'],
  errorResponseBuilder: ['onDenied'],
  skipOnError: ['onStoreError'],
  passOnStoreError: ['onStoreError'],
  redis: ['store'],
  client: ['store'],
  timeout: ['timeoutMs'],
  maxSize: ['maxKeys'],
  maxHoldMs: ['maxSlotMs'],
  maxHeld: ['maxPaced'],
  whitelist: ['allow'],
  allowList: ['allow'],
  allowlist: ['allow'],
  blacklist: ['deny'],
  denyList: ['deny'],
  denylist: ['deny'],
  skipSuccessfulRequests: ['refund'],
  skipFailedRequests: ['refund'],
  requestWasSuccessful: ['refund'],
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
const WRITTEN_FOR_OPTION: Readonly<Record<string, string>> = {
  policy: 'policy: fixedWindow({ limit: 100, window: "1m" })',
};

/** What is written here for an option of another package: its name here, and the value that came. */
type Rewrite = (value: unknown, option: string) => string | undefined;

const MS_PER_WORD: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** Numbers are milliseconds; `'1 minute'` is what limiters of Fastify take. */
const duration: Rewrite = (value, option) => {
  const words = typeof value === 'string' ? /^(\d+) ?(second|minute|hour|day)s?$/.exec(value) : null;
  const ms = words === null ? value : Number(words[1]) * (MS_PER_WORD[words[2] ?? ''] ?? 0);
  return Number.isSafeInteger(ms) && Number(ms) > 0 ? `${option}: "${writtenDuration(Number(ms))}"` : undefined;
};
const inSeconds: Rewrite = (value, option) => duration(typeof value === 'number' ? value * 1000 : value, option);
const number: Rewrite = (value, option) => (typeof value === 'number' ? `${option}: ${String(value)}` : undefined);
const text: Rewrite = (value, option) => (typeof value === 'string' ? `${option}: ${shown(value)}` : undefined);
const sameFunction: Rewrite = (value, option) =>
  typeof value === 'function' ? `${option}: the same function` : undefined;
const onStoreError: Rewrite = (value, option) => `${option}: ${value === true ? '"allow"' : '"throw"'}`;
const report: Rewrite = () => 'mode: "report"';
const limit: Rewrite = (value, option) =>
  typeof value === 'function'
    ? 'policy: (request) => fixedWindow({ name: "plan", limit: 100, window: "1m" })'
    : number(value, option);

const REWRITES: Readonly<Record<string, Rewrite>> = {
  windowMs: duration,
  timeWindow: duration,
  ttl: duration,
  interval: duration,
  per: duration,
  duration: inSeconds, // of rate-limiter-flexible
  max: limit,
  points: limit,
  requests: number,
  quota: number,
  burst: number,
  maxTokens: number,
  refillRate: number,
  weight: number,
  maxSize: number,
  keyPrefix: text,
  identifier: text,
  namespace: text,
  nameSpace: text,
  keyGenerator: sameFunction,
  getTracker: sameFunction,
  generateKey: sameFunction,
  skipIf: sameFunction,
  standardHeaders: (value) => {
    if (value === false) return 'headers: false';
    return value === true || value === 'draft-6' ? 'headers: "draft-6"' : 'headers: "draft-11"';
  },
  legacyHeaders: (value) => (value === false ? undefined : 'headers: ["draft-11", { legacy: "epoch" }]'),
  statusCode: (value) => (typeof value === 'number' ? `status: { denied: ${String(value)} }` : undefined),
  message: (value) =>
    typeof value === 'string' ? `onDenied: (request, response) => response.end(${shown(value)})` : undefined,
  skipSuccessfulRequests: () => 'refund: "on-success"',
  skipFailedRequests: () => 'refund: "on-failure"',
  passOnStoreError: onStoreError,
  skipOnError: onStoreError,
  dryRun: report,
  shadow: report,
  shadowMode: report,
  reportOnly: report,
};

const BLOCKING = 'to deny a key for a while call limiter.block(key, "1h")';
/** Option names without an option here, and what to do instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  trustProxy: 'the framework itself has a setting for trusted proxies',
  requestPropertyName: 'the key and the decision are always on the request, as rateLimit',
  holdMs: 'to wait for units call limiter.wait(key), and for a slot limiter.run(key, fn)',
  batching: 'concurrent decisions always share calls',
  coalescing: 'equal requests for one key in one call are always one step',
  ban: BLOCKING,
  blockDuration: BLOCKING,
};

/**
 * What to write instead of an option that does not exist: the line of an option of another package with the value that
 * came, or the known name that was probably meant, or all known names.
 */
export function hintFor(name: string, value: unknown, known: readonly string[]): string {
  const instead = entryOf(INSTEAD, name);
  if (instead !== undefined) return instead;
  const meant = nearest(name, known);
  if (meant === undefined) return `known: ${listed(known)}`;
  const written =
    entryOf(NAMES_ELSEWHERE, name)?.includes(meant) === true && meant !== 'policy'
      ? entryOf(REWRITES, name)?.(value, meant)
      : undefined;
  return `did you mean ${written ?? entryOf(WRITTEN_FOR_OPTION, meant) ?? JSON.stringify(meant)}?`;
}

/** An own entry of a table: a given name such as `constructor` finds nothing. */
function entryOf<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/**
 * The one of `known` that `name` probably means, if any is near: by a table of option names of other libraries, then by
 * edit distance.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const same = entryOf(NAMES_ELSEWHERE, name)?.find((candidate) => known.includes(candidate));
  if (same !== undefined) return same;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Names as a list in a sentence. */
export function listed(names: readonly string[], word: 'and' | 'or' = 'and'): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1) ?? ''}`;
}

/** The Levenshtein distance, row by row. */
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
