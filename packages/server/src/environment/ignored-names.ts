/** The meaning here of a name of envoyproxy/ratelimit that sets no option. */
export interface Ignored {
  /** Its replacement here. */
  readonly instead: string;
  /** Values that ask for what is so here anyway: they give no warning. None: every value gives one. */
  readonly fine?: RegExp;
  /** Values that ask for something else than what would happen: the service does not start with them. */
  readonly wrong?: RegExp;
}

const TRUE = /^(1|t|true)$/i;
const FALSE = /^(0|f|false|)$/i;
const ANY = /^/;
const SET = /./;

const METRICS = '/metrics and /stats have the counters';
const ONE_REDIS = 'every count is in the Redis of REDIS_URL';
const FIELDS = 'the fields RateLimit-Policy and RateLimit go out, under these names';
const BATCHES = 'calls of one turn of the event loop travel together over one connection, without a setting';
const CA = 'give NODE_EXTRA_CA_CERTS the file of the authority';
const OWN_CLIENT =
  'call createServer with store: redisStore(new Redis({ ... }), { prefix }), which takes every setting of TLS';
const NO_MEMCACHED = 'counts are in Redis, or without REDIS_URL in the memory of this process';
const NO_XDS = 'limits come from files: set RUNTIME_ROOT, or give --config';
const NO_TRACES = 'the service sends no traces';
const PER_RULE = 'on each rule that should have it';

/**
 * Every name of envoyproxy/ratelimit that sets no option here. A name that ends in `*` stands for all that begin so.
 */
export const IGNORED_NAMES: ReadonlyMap<string, Ignored> = new Map<string, Ignored>([
  ['GRPC_MAX_CONNECTION_AGE_GRACE', { instead: 'a connection that is too old ends when its calls are answered' }],
  [
    'GRPC_CLIENT_TLS_SAN',
    { instead: 'give GRPC_CLIENT_TLS_CACERT an authority that signs these clients alone', wrong: SET },
  ],
  ['LOG_LEVEL', { instead: 'standard error has what operators should know', fine: /^(warn|warning|error|)$/i }],
  ['LOG_FORMAT', { instead: 'standard error has lines of text', fine: /^(text|)$/i }],
  ['CONFIG_TYPE', { instead: NO_XDS, fine: /^(FILE|)$/, wrong: SET }],
  ['FORCE_START_WITHOUT_INITIAL_CONFIG', { instead: 'the service starts with a configuration alone', fine: FALSE }],
  ['CONFIG_GRPC_XDS_*', { instead: NO_XDS }],
  ['XDS_CLIENT_*', { instead: NO_XDS }],
  ['USE_STATSD', { instead: METRICS, fine: FALSE }],
  ['USE_DOG_STATSD', { instead: METRICS, fine: FALSE }],
  ['USE_DOG_STATSD_MOGRIFIERS', { instead: METRICS, fine: /^$/ }],
  ['STATSD_*', { instead: METRICS }],
  ['EXTRA_TAGS', { instead: METRICS, fine: /^$/ }],
  ['STATS_FLUSH_INTERVAL', { instead: METRICS }],
  ['DISABLE_STATS', { instead: METRICS, fine: FALSE }],
  ['USE_PROMETHEUS', { instead: METRICS, fine: TRUE }],
  ['PROMETHEUS_*', { instead: '/metrics of the listeners http and admin has them' }],
  ['RUNTIME_IGNOREDOTFILES', { instead: 'files whose names begin with a dot are left out', fine: TRUE }],
  ['RUNTIME_WATCH_ROOT', { instead: 'both are noticed', fine: ANY }],
  ['EXPIRATION_JITTER_MAX_SECONDS', { instead: 'keys expire with their window', fine: /^0?$/ }],
  ['LOCAL_CACHE_SIZE_IN_BYTES', { instead: 'denials are kept in memory without a setting' }],
  ['NEAR_LIMIT_RATIO', { instead: 'it is 0.8', fine: /^0?\.80*$/ }],
  ['BACKEND_TYPE', { instead: NO_MEMCACHED, fine: /^(redis|)$/, wrong: SET }],
  ['STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT', { instead: 'a denied request counts nowhere', fine: TRUE }],
  ['LIMIT_RESPONSE_HEADERS_ENABLED', { instead: FIELDS, fine: TRUE }],
  ['LIMIT_LIMIT_HEADER', { instead: FIELDS }],
  ['LIMIT_REMAINING_HEADER', { instead: FIELDS }],
  ['LIMIT_RESET_HEADER', { instead: FIELDS }],
  ['HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED', { instead: 'this is always so', fine: ANY }],
  ['REDIS_POOL_SIZE', { instead: BATCHES }],
  ['REDIS_POOL_ON_EMPTY_BEHAVIOR', { instead: BATCHES }],
  ['REDIS_PIPELINE_*', { instead: BATCHES }],
  ['REDIS_CLUSTER_PIPELINE_PARALLELISM', { instead: BATCHES }],
  ['REDIS_TLS_CLIENT_CERT', { instead: OWN_CLIENT, fine: /^$/, wrong: SET }],
  ['REDIS_TLS_CLIENT_KEY', { instead: OWN_CLIENT, fine: /^$/, wrong: SET }],
  ['REDIS_TLS_CACERT', { instead: CA, fine: /^$/, wrong: SET }],
  ['REDIS_TLS_SKIP_HOSTNAME_VERIFICATION', { instead: OWN_CLIENT, fine: FALSE, wrong: SET }],
  ['REDIS_PERSECOND', { instead: ONE_REDIS, fine: FALSE }],
  ['REDIS_PERSECOND_*', { instead: ONE_REDIS }],
  ['REDIS_SENTINEL_AUTH', { instead: OWN_CLIENT, fine: /^$/, wrong: SET }],
  ['REDIS_HEALTH_CHECK_ACTIVE_CONNECTION', { instead: 'without Redis this process decides by itself', fine: FALSE }],
  ['REDIS_TIMEOUT', { instead: '--timeout is the longest wait of a decision, 15 ms by default' }],
  ['REDIS_STARTUP_*', { instead: 'the service starts without Redis, and uses it once it is there' }],
  ['MEMCACHE_*', { instead: NO_MEMCACHED }],
  ['SHADOW_MODE', { instead: `write shadow_mode: true ${PER_RULE}`, fine: FALSE, wrong: SET }],
  ['QUOTA_MODE', { instead: `write quota_mode: true ${PER_RULE}`, fine: FALSE, wrong: SET }],
  ['RESPONSE_DYNAMIC_METADATA', { instead: 'dynamic_metadata is always sent', fine: TRUE }],
  ['TRACING_ENABLED', { instead: NO_TRACES, fine: FALSE }],
  ['TRACING_*', { instead: NO_TRACES }],
]);

/** The entry of a name in the table. */
export function ignoredName(name: string): Ignored | undefined {
  const exact = IGNORED_NAMES.get(name);
  if (exact !== undefined) return exact;
  for (const [pattern, ignored] of IGNORED_NAMES) {
    if (pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1))) return ignored;
  }
  return undefined;
}
