import { knowElsewhere, type Elsewhere } from './hint.ts';

/** What to write here (the first of these options that exists), and the names that other limiters use for it. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'window every policy': 'windowMs timeWindow ttl interval per duration',
  'every policy': 'window',
  every: 'refillInterval',
  'limit capacity policy': 'max points requests quota',
  'capacity policy': 'limit',
  capacity: 'burst maxTokens',
  refill: 'refillRate',
  blockFor: 'blockDuration',
  policy: 'algorithm policies',
  cost: 'weight',
  'cost refill': 'tokens',
  key: 'keyGenerator getTracker generateKey id',
  'prefix name': 'keyPrefix',
  name: 'identifier namespace nameSpace groupId',
  headers:
    'standardHeaders legacyHeaders draft_polli_ratelimit_headers enableDraftSpec addHeaders disableHeader setHeaders',
  onDenied: 'message handler errorResponseBuilder errorMessage onLimitReached onExceeded',
  'status onDenied': 'statusCode',
  onStoreError: 'skipOnError passOnStoreError insuranceLimiter',
  store: 'redis client storage storeClient db',
  timeoutMs: 'timeout',
  maxKeys: 'maxSize',
  allow: 'whitelist allowList allowlist',
  deny: 'blacklist denyList denylist',
  refund: 'skipSuccessfulRequests skipFailedRequests requestWasSuccessful',
  skip: 'skipIf',
  mode: 'dryRun shadow shadowMode reportOnly',
  limits: 'throttlers',
};

const BLOCKING = 'to deny a key for a while, set blockFor in its policy, or call limiter.block(key, "1h")';

/** Options without a counterpart, and what to do instead. */
const INSTEAD: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ['trustProxy', 'the framework itself has a setting for trusted proxies'],
  ['requestPropertyName', 'the key and the decision are always on the request, as rateLimit'],
  ['ban', BLOCKING],
  ['blockDuration', BLOCKING],
]);

/**
 * How to write the options of other packages here, for errors about unknown options. Exported so that bundles leave it
 * out while every Node program has it.
 */
export const namesElsewhere: Elsewhere = /* @__PURE__ */ knowElsewhere((name, known) => {
  for (const [here, names] of Object.entries(ELSEWHERE)) {
    const meant = names.split(' ').includes(name) ? here.split(' ').find((own) => known.includes(own)) : undefined;
    if (meant !== undefined) return { meant };
  }
  return { instead: INSTEAD.get(name) };
});
