/** Values that ask for what is so here anyway. */
const OFF = /^(0|f|false|)$/i;
const EMPTY = /^$/;

const OWN_CLIENT =
  'call createServer with store: redisStore(new Redis({ ... }), { prefix }), which takes every setting of TLS';

/**
 * Names of envoyproxy/ratelimit that ask for other decisions, or for other guards, than the service would give: it does
 * not start with them, but with these values.
 */
export const UNSUPPORTED: Readonly<Record<string, readonly [harmless: RegExp, instead: string]>> = {
  SHADOW_MODE: [OFF, 'write shadow_mode: true on each rule that should have it'],
  QUOTA_MODE: [OFF, 'write quota_mode: true on each rule that should have it'],
  CONFIG_TYPE: [/^(FILE|)$/, 'limits come from files: set RUNTIME_ROOT, or give --config'],
  BACKEND_TYPE: [/^(redis|)$/, 'counts are in Redis, or without REDIS_URL in the memory of this process'],
  GRPC_CLIENT_TLS_SAN: [EMPTY, 'give GRPC_CLIENT_TLS_CACERT an authority that signs these clients alone'],
  REDIS_TLS_CLIENT_CERT: [EMPTY, OWN_CLIENT],
  REDIS_TLS_CLIENT_KEY: [EMPTY, OWN_CLIENT],
  REDIS_TLS_CACERT: [EMPTY, 'give NODE_EXTRA_CA_CERTS the file of the authority'],
  REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: [OFF, OWN_CLIENT],
  REDIS_SENTINEL_AUTH: [EMPTY, OWN_CLIENT],
};

/** Its names that change no decision, and mean nothing here. */
export const IGNORED: RegExp = new RegExp(
  `^(?:${[
    ...['GRPC_MAX_CONNECTION_AGE_GRACE', 'LOG_LEVEL', 'LOG_FORMAT', 'FORCE_START_WITHOUT_INITIAL_CONFIG'],
    ...['CONFIG_GRPC_XDS_\\w+', 'XDS_CLIENT_\\w+', 'USE_(?:DOG_)?STATSD\\w*', 'STATSD_\\w+', 'EXTRA_TAGS'],
    ...['STATS_FLUSH_INTERVAL', 'DISABLE_STATS', 'USE_PROMETHEUS', 'PROMETHEUS_\\w+', 'RUNTIME_IGNOREDOTFILES'],
    ...['RUNTIME_WATCH_ROOT', 'EXPIRATION_JITTER_MAX_SECONDS', 'LOCAL_CACHE_SIZE_IN_BYTES', 'NEAR_LIMIT_RATIO'],
    ...['STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT', 'LIMIT_\\w+_(?:HEADER|ENABLED)', 'REDIS_\\w*(?:POOL|PIPELINE)_\\w+'],
    ...['REDIS_CLUSTER_PIPELINE_PARALLELISM', 'REDIS_PERSECOND\\w*', 'REDIS_HEALTH_CHECK_ACTIVE_CONNECTION'],
    ...['HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED', 'REDIS_TIMEOUT', 'REDIS_STARTUP_\\w+', 'MEMCACHE_\\w+'],
    ...['RESPONSE_DYNAMIC_METADATA', 'TRACING_\\w+'],
  ].join('|')})$`,
);
