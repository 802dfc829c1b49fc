import { shown } from '../errors.ts';
import { writeDuration } from './duration.ts';
import { knowElsewhere, type Elsewhere } from './hint.ts';

/** The line to write for an option of another package, with the value that came; undefined if that says nothing. */
type Rewrite = (value: unknown, option: string) => string | undefined;

const WORDS = /^(\d+) ?(second|minute|hour|day)s?$/;
const SECONDS: Readonly<Record<string, number>> = { second: 1, minute: 60, hour: 3_600, day: 86_400 };

/** Numbers are milliseconds; `'1 minute'` is what limiters of Fastify take. */
const time: Rewrite = (value, option) => {
  const [, amount, unit = ''] = (typeof value === 'string' && WORDS.exec(value)) || [];
  const ms = amount === undefined ? value : Number(amount) * (SECONDS[unit] ?? 0) * 1_000;
  return Number.isSafeInteger(ms) && Number(ms) > 0 ? `${option}: "${writeDuration(Number(ms))}"` : undefined;
};
/** Those of rate-limiter-flexible. */
const seconds: Rewrite = (value, option) => time(typeof value === 'number' ? value * 1_000 : value, option);
const same: Rewrite = (value, option) => {
  if (typeof value === 'function') return `${option}: the same function`;
  return typeof value === 'number' || typeof value === 'string' ? `${option}: ${shown(value)}` : undefined;
};
const number: Rewrite = (value, option) => (typeof value === 'number' ? same(value, option) : undefined);
const units: Rewrite = (value, option) =>
  typeof value === 'function'
    ? 'policy: (request) => fixedWindow({ name: "plan", limit: 100, window: "1m" })'
    : number(value, option);
const fields: Rewrite = (value) => {
  if (value === true) return 'headers: "draft-6"';
  const isKnown = value === false || value === 'draft-6' || value === 'draft-7';
  return isKnown ? `headers: ${shown(value)}` : 'headers: "draft-11"';
};
const legacyFields: Rewrite = (value) =>
  `headers: ${value === false ? '"draft-11"' : '["draft-11", { legacy: "epoch" }]'}`;
const message: Rewrite = (value) =>
  typeof value === 'string' ? `onDenied: (request, response) => response.end(${shown(value)})` : undefined;
const status: Rewrite = (value) => (typeof value === 'number' ? `status: { denied: ${String(value)} }` : undefined);
const onStoreError: Rewrite = (value) => `onStoreError: ${value === true ? '"allow"' : '"throw"'}`;

const TIME = 'window every policy';
const UNITS = 'limit capacity policy';

/** Options of other limiters; the names to suggest, of which the first that exists is meant; and how to write it. */
const ELSEWHERE: readonly (readonly [names: string, here: string, rewrite?: Rewrite])[] = [
  ['windowMs timeWindow ttl interval per', TIME, time],
  ['duration', TIME, seconds],
  ['window', 'every policy'],
  ['refillInterval', 'every', time],
  ['max points', UNITS, units],
  ['requests quota', UNITS, number],
  ['limit', 'capacity policy'],
  ['burst maxTokens', 'capacity', number],
  ['refillRate', 'refill', number],
  ['blockDuration', 'blockFor', seconds],
  ['algorithm policies', 'policy'],
  ['weight', 'cost', number],
  ['tokens', 'cost refill'],
  ['keyGenerator getTracker generateKey', 'key', same],
  ['id', 'key'],
  ['keyPrefix', 'prefix name', same],
  ['identifier namespace nameSpace groupId', 'name', same],
  ['standardHeaders', 'headers', fields],
  ['legacyHeaders', 'headers', legacyFields],
  ['draft_polli_ratelimit_headers enableDraftSpec addHeaders disableHeader setHeaders', 'headers'],
  ['message', 'onDenied', message],
  ['handler errorResponseBuilder errorMessage onLimitReached onExceeded', 'onDenied'],
  ['statusCode', 'status onDenied', status],
  ['skipOnError passOnStoreError', 'onStoreError', onStoreError],
  ['insuranceLimiter', 'onStoreError'],
  ['redis client storage storeClient db', 'store'],
  ['timeout', 'timeoutMs'],
  ['maxSize', 'maxKeys', number],
  ['whitelist allowList allowlist', 'allow'],
  ['blacklist denyList denylist', 'deny'],
  ['skipSuccessfulRequests', 'refund', () => 'refund: "on-success"'],
  ['skipFailedRequests', 'refund', () => 'refund: "on-failure"'],
  ['requestWasSuccessful', 'refund'],
  ['skipIf', 'skip', same],
  ['dryRun shadow shadowMode reportOnly', 'mode', () => 'mode: "report"'],
  ['throttlers', 'limits'],
];

const BLOCKING = 'to deny a key for a while write blockFor in its policy, or call limiter.block(key, "1h")';

/** Options without a counterpart, and what to do instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  trustProxy: 'the framework itself has a setting for trusted proxies',
  requestPropertyName: 'the key and the decision are always on the request, as rateLimit',
  ban: BLOCKING,
  blockDuration: BLOCKING,
};

/**
 * How options of other packages are written here, for the errors of unknown options. It is exported so that a bundle
 * leaves it out, and every program of Node has it.
 */
export const namesElsewhere: Elsewhere = /* @__PURE__ */ knowElsewhere((name, value, known) => {
  for (const [names, here, rewrite] of ELSEWHERE) {
    const meant = names.split(' ').includes(name) ? here.split(' ').find((own) => known.includes(own)) : undefined;
    if (meant === 'policy') return { meant, line: 'policy: fixedWindow({ limit: 100, window: "1m" })' };
    if (meant !== undefined) return { meant, line: rewrite?.(value, meant) };
  }
  return Object.hasOwn(INSTEAD, name) ? { instead: INSTEAD[name] } : {};
});
