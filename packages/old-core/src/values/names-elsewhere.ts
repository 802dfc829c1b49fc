import { shown } from '../errors.ts';
import { writtenDuration } from './duration.ts';
import { tellOfOthers, type OtherNames } from './hint.ts';

/** What is written here for an option of another package: its name here, and the value that came. */
type Rewrite = NonNullable<OtherNames['names'][string][1]>;

const MS_OF: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** Numbers are milliseconds; `'1 minute'` is what limiters of Fastify take. */
const duration: Rewrite = (value, option) => {
  const words = typeof value === 'string' ? /^(\d+) ?(second|minute|hour|day)s?$/.exec(value) : null;
  const ms = words === null ? value : Number(words[1]) * (MS_OF[words[2] ?? ''] ?? 0);
  return Number.isSafeInteger(ms) && Number(ms) > 0 ? `${option}: "${writtenDuration(Number(ms))}"` : undefined;
};
/** Those of rate-limiter-flexible. */
const inSeconds: Rewrite = (value, option) => duration(typeof value === 'number' ? value * 1000 : value, option);
const number: Rewrite = (value, option) => (typeof value === 'number' ? `${option}: ${String(value)}` : undefined);
const text: Rewrite = (value, option) => (typeof value === 'string' ? `${option}: ${shown(value)}` : undefined);
const sameFunction: Rewrite = (value, option) =>
  typeof value === 'function' ? `${option}: the same function` : undefined;
const onStoreError: Rewrite = (value, option) => `${option}: ${value === true ? '"allow"' : '"throw"'}`;
const report: Rewrite = () => 'mode: "report"';
const standardHeaders: Rewrite = (value) => {
  if (value === false || value === 'draft-7') return `headers: ${shown(value)}`;
  return value === true || value === 'draft-6' ? 'headers: "draft-6"' : 'headers: "draft-11"';
};
const statusCode: Rewrite = (value) => (typeof value === 'number' ? `status: { denied: ${String(value)} }` : undefined);
const message: Rewrite = (value) =>
  typeof value === 'string' ? `onDenied: (request, response) => response.end(${shown(value)})` : undefined;
const limit: Rewrite = (value, option) =>
  typeof value === 'function'
    ? 'policy: (request) => fixedWindow({ name: "plan", limit: 100, window: "1m" })'
    : number(value, option);

const TIME = ['window', 'every', 'policy'];
const UNITS = ['limit', 'capacity', 'policy'];

/**
 * Option names of other limiters, each with the names to suggest, and where the name alone does not say it with what is
 * written here for the value.
 */
const NAMES_ELSEWHERE: OtherNames['names'] = {
  windowMs: [TIME, duration],
  window: [['every', 'policy']],
  timeWindow: [TIME, duration],
  duration: [TIME, inSeconds],
  ttl: [TIME, duration],
  interval: [TIME, duration],
  per: [TIME, duration],
  refillInterval: [['every']],
  limit: [['capacity', 'policy']],
  max: [UNITS, limit],
  points: [UNITS, limit],
  requests: [UNITS, number],
  quota: [UNITS, number],
  burst: [['capacity'], number],
  maxTokens: [['capacity'], number],
  refillRate: [['refill'], number],
  algorithm: [['policy']],
  policies: [['policy']],
  weight: [['cost'], number],
  tokens: [['cost', 'refill']],
  keyGenerator: [['key'], sameFunction],
  id: [['key']],
  keyPrefix: [['prefix', 'name'], text],
  standardHeaders: [['headers'], standardHeaders],
  legacyHeaders: [
    ['headers'],
    (value) => (value === false ? 'headers: "draft-11"' : 'headers: ["draft-11", { legacy: "epoch" }]'),
  ],
  handler: [['onDenied']],
  message: [['onDenied'], message],
  statusCode: [['status', 'onDenied'], statusCode],
  errorResponseBuilder: [['onDenied']],
  skipOnError: [['onStoreError'], onStoreError],
  passOnStoreError: [['onStoreError'], onStoreError],
  redis: [['store']],
  client: [['store']],
  timeout: [['timeoutMs']],
  maxSize: [['maxKeys'], number],
  whitelist: [['allow']],
  allowList: [['allow']],
  allowlist: [['allow']],
  blacklist: [['deny']],
  denyList: [['deny']],
  denylist: [['deny']],
  skipSuccessfulRequests: [['refund'], () => 'refund: "on-success"'],
  skipFailedRequests: [['refund'], () => 'refund: "on-failure"'],
  requestWasSuccessful: [['refund']],
  skipIf: [['skip'], sameFunction],
  dryRun: [['mode'], report],
  shadow: [['mode'], report],
  shadowMode: [['mode'], report],
  reportOnly: [['mode'], report],
  draft_polli_ratelimit_headers: [['headers']],
  enableDraftSpec: [['headers']],
  addHeaders: [['headers']],
  disableHeader: [['headers']],
  setHeaders: [['headers']],
  identifier: [['name'], text],
  getTracker: [['key'], sameFunction],
  generateKey: [['key'], sameFunction],
  namespace: [['name'], text],
  nameSpace: [['name'], text],
  groupId: [['group', 'name']],
  onLimitReached: [['onDenied']],
  onExceeded: [['onDenied']],
  errorMessage: [['onDenied']],
  insuranceLimiter: [['onStoreError']],
  storage: [['store']],
  storeClient: [['store']],
  db: [['store']],
  throttlers: [['limits']],
};

const BLOCKING = 'to deny a key for a while call limiter.block(key, "1h")';
/** Option names without an option here, and what to do instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  trustProxy: 'the framework itself has a setting for trusted proxies',
  requestPropertyName: 'the key and the decision are always on the request, as rateLimit',
  ban: BLOCKING,
  blockDuration: BLOCKING,
};

/** Every program of Node has them; a bundle leaves them out. See docs/adr/0087-a-bundle-has-what-it-names.md. */
export const namesElsewhere: OtherNames = /* @__PURE__ */ tellOfOthers({
  names: NAMES_ELSEWHERE,
  instead: INSTEAD,
});
