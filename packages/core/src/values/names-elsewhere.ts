import { shown } from '../errors.ts';
import { writtenDuration } from './duration.ts';
import { tellOfOthers, type OtherNames } from './hint.ts';

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
    if (value === false || value === 'draft-7') return `headers: ${shown(value)}`;
    return value === true || value === 'draft-6' ? 'headers: "draft-6"' : 'headers: "draft-11"';
  },
  legacyHeaders: (value) => (value === false ? 'headers: "draft-11"' : 'headers: ["draft-11", { legacy: "epoch" }]'),
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

/** Every program of Node has them; a bundle leaves them out. See docs/adr/0087-a-bundle-has-what-it-names.md. */
export const namesElsewhere: OtherNames = /* @__PURE__ */ tellOfOthers({
  names: NAMES_ELSEWHERE,
  lines: REWRITES,
  instead: INSTEAD,
});
