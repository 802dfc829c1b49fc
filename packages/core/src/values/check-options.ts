import { PolicyError, shown } from '../errors.ts';

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
  statusCode: ['onDenied'],
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
/** Suggestions for names of other packages that are more than the name of an option. */
const WRITTEN_FOR_NAME: Readonly<Record<string, string>> = {
  skipSuccessfulRequests: 'refund: "on-success"',
  skipFailedRequests: 'refund: "on-failure"',
  dryRun: 'mode: "report"',
  shadow: 'mode: "report"',
  shadowMode: 'mode: "report"',
  reportOnly: 'mode: "report"',
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
 * Rejects unknown options, and suggests the one that was probably meant.
 *
 * @throws PolicyError with `SLUICE_OPTION_UNKNOWN`, or `SLUICE_OPTION_INVALID` when `options` is not an object.
 */
export function checkOptions(options: unknown, known: readonly string[], where: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new PolicyError(
      where,
      `${where} takes an object with ${listed(known)}, got ${shown(options)}${exampleFor(known)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  const [name, ...others] = Object.keys(options).filter((given) => !known.includes(given));
  if (name === undefined) return;
  throw new PolicyError(
    name,
    `${where} has no option ${JSON.stringify(name)} (got ${shown((options as Readonly<Record<string, unknown>>)[name])}); ${hintFor(name, known)}` +
      others
        .slice(0, MOST_OTHERS)
        .map((other) => norHas(other, known))
        .join(''),
    'SLUICE_OPTION_UNKNOWN',
  );
}

/** Further unknown options in the error of the first. */
const MOST_OTHERS = 10;

function norHas(name: string, known: readonly string[]): string {
  const isHinted = entryOf(INSTEAD, name) !== undefined || nearest(name, known) !== undefined;
  return `; nor ${JSON.stringify(name)}${isHinted ? `: ${hintFor(name, known)}` : ''}`;
}

/** How to write a window, where that is what the options are of. */
function exampleFor(known: readonly string[]): string {
  return known.includes('limit') && known.includes('window') ? '; write for example { limit: 100, window: "1m" }' : '';
}

/** The error of an option's value, which states what was expected and what came. */
export function invalidOption(field: string, expected: string, got: unknown): PolicyError {
  return new PolicyError(field, `${field} must be ${expected}, got ${shown(got)}`, 'SLUICE_OPTION_INVALID');
}

function hintFor(name: string, known: readonly string[]): string {
  const instead = entryOf(INSTEAD, name);
  if (instead !== undefined) return instead;
  const meant = nearest(name, known);
  if (meant === undefined) return `known: ${listed(known)}`;
  const written =
    entryOf(NAMES_ELSEWHERE, name)?.includes(meant) === true ? entryOf(WRITTEN_FOR_NAME, name) : undefined;
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
