import { describe, expect, it } from '@jest/globals';
import { readEnvironment, type EnvironmentOptions } from '../../src/environment/environment.ts';

const ROOT = { RUNTIME_ROOT: '/data', RUNTIME_SUBDIRECTORY: 'ratelimit' };

/** What an environment sets, without warnings. */
function optionsOf(environment: Readonly<Record<string, string>>): EnvironmentOptions['options'] {
  const { options, warnings } = readEnvironment(environment);
  expect(warnings).toEqual([]);
  return options;
}

describe('the environment of envoyproxy/ratelimit', () => {
  it('sets nothing where it has none of the names', () => {
    expect(readEnvironment({ PATH: '/bin', HOME: '/root', REDIS: 'x' })).toEqual({ options: {}, warnings: [] });
  });

  it('puts the service in its place with the name of a folder alone', () => {
    expect(optionsOf(ROOT)).toEqual({
      config: '/data/ratelimit/config',
      grpc: '0.0.0.0:8081',
      http: '0.0.0.0:8080',
      admin: '127.0.0.1:6070',
    });
    expect(optionsOf({ RUNTIME_SUBDIRECTORY: 'ratelimit' }).config).toBe('/srv/runtime_data/current/ratelimit/config');
    expect(optionsOf({ ...ROOT, RUNTIME_APPDIRECTORY: 'limits' }).config).toBe('/data/ratelimit/limits');
  });

  it.each<[Readonly<Record<string, string>>, EnvironmentOptions['options']]>([
    [{ PORT: '9080' }, { http: '127.0.0.1:9080' }],
    [{ HOST: '10.0.0.1' }, { http: '10.0.0.1:8080' }],
    [{ HOST: '::1', PORT: '1' }, { http: '[::1]:1' }],
    [{ GRPC_HOST: '::', GRPC_PORT: '9081' }, { grpc: '[::]:9081' }],
    [{ GRPC_UDS: '/run/limits.sock', GRPC_PORT: '9081' }, { grpc: 'unix:/run/limits.sock' }],
    [{ DEBUG_HOST: '0.0.0.0' }, { admin: '0.0.0.0:6070' }],
    [{ DEBUG_PORT: '7070' }, { admin: '127.0.0.1:7070' }],
    [{ PORT: '', HOST: '', GRPC_PORT: '', REDIS_URL: '', REDIS_TYPE: '', MERGE_DOMAIN_CONFIG: '' }, {}],
    [{ MERGE_DOMAIN_CONFIG: 'T' }, { mergeDomains: true }],
    [{ MERGE_DOMAIN_CONFIG: '0' }, { mergeDomains: false }],
    [{ GRPC_MAX_CONNECTION_AGE: '1h30m' }, { maxConnectionAgeMs: 5_400_000 }],
    [{ CACHE_KEY_PREFIX: 'edge' }, { prefix: 'edge' }],
    [{ REDIS_URL: 'redis:6379' }, { redis: 'redis://redis:6379' }],
    [{ REDIS_URL: 'redis:6379', REDIS_TYPE: '' }, { redis: 'redis://redis:6379' }],
    [{ REDIS_URL: 'redis:6379', REDIS_TLS: 'false' }, { redis: 'redis://redis:6379' }],
    [{ REDIS_URL: 'redis:6379', REDIS_TLS: 'true', REDIS_AUTH: 'p@ss' }, { redis: 'rediss://:p%40ss@redis:6379' }],
    [{ REDIS_URL: 'redis:6379', REDIS_SOCKET_TYPE: 'tls' }, { redis: 'rediss://redis:6379' }],
    [{ REDIS_URL: '/run/redis.sock', REDIS_SOCKET_TYPE: 'unix' }, { redis: '/run/redis.sock' }],
    [{ REDIS_URL: '/run/redis.sock', REDIS_AUTH: 'me:x' }, { redis: 'unix://me:x@/run/redis.sock' }],
    [{ REDIS_URL: 'a:1,b:2', REDIS_TYPE: 'cluster', REDIS_AUTH: 'x' }, { redis: 'redis://:x@a:1,redis://:x@b:2' }],
    [{ REDIS_URL: 'a:1', REDIS_TYPE: 'CLUSTER' }, { redis: 'redis://a:1,redis://a:1' }],
    [
      { GRPC_SERVER_USE_TLS: 'true', GRPC_SERVER_TLS_CERT: '/c', GRPC_SERVER_TLS_KEY: '/k' },
      { tls: { cert: '/c', key: '/k', listeners: ['grpc'] } },
    ],
    [
      { GRPC_SERVER_USE_TLS: '1', GRPC_SERVER_TLS_CERT: '/c', GRPC_SERVER_TLS_KEY: '/k', GRPC_CLIENT_TLS_CACERT: '/a' },
      { tls: { cert: '/c', key: '/k', clientCa: '/a', listeners: ['grpc'] } },
    ],
    [{ GRPC_SERVER_USE_TLS: 'false', GRPC_SERVER_TLS_CERT: '/c' }, {}],
  ])('%j is %j', (environment, options) => {
    expect(optionsOf(environment)).toEqual(options);
  });

  it('takes the name of a machine in HOST for that of a shell', () => {
    expect(readEnvironment({ HOST: 'build-7' })).toEqual({
      options: {},
      warnings: ['HOST is ignored: it is not an address; write --http host:port'],
    });
  });

  it('takes the address of a Service of Kubernetes for no port', () => {
    const { options, warnings } = readEnvironment({ ...ROOT, GRPC_PORT: 'tcp://10.96.0.7:8081', DEBUG_PORT: '6071' });

    expect(options).toMatchObject({ grpc: '0.0.0.0:8081', admin: '127.0.0.1:6071' });
    expect(warnings).toEqual([expect.stringContaining('GRPC_PORT is ignored: it is the address that Kubernetes')]);
  });

  it('names what means nothing here in one line', () => {
    const names = {
      XDS_CLIENT_BACKOFF_JITTER: 'true',
      LOG_LEVEL: 'debug',
      USE_DOG_STATSD_MOGRIFIERS: 'a',
      REDIS_PIPELINE_WINDOW: '1ms',
    };
    const others = { LOG_FORMAT: '', REDIS: 'x', MY_LOG_LEVEL: 'x', BACKEND_TYPE: 'redis', SHADOW_MODE: 'false' };
    expect(readEnvironment({ ...names, ...others })).toEqual({
      options: {},
      warnings: [
        'these names of envoyproxy/ratelimit mean nothing here: LOG_LEVEL, REDIS_PIPELINE_WINDOW, USE_DOG_STATSD_MOGRIFIERS, XDS_CLIENT_BACKOFF_JITTER',
      ],
    });
  });

  it.each<[Readonly<Record<string, string>>, string]>([
    [{ SHADOW_MODE: 'true' }, 'SHADOW_MODE is not supported by this service; write shadow_mode: true'],
    [{ QUOTA_MODE: '1' }, 'QUOTA_MODE is not supported by this service'],
    [{ BACKEND_TYPE: 'memcache' }, 'BACKEND_TYPE is not supported by this service'],
    [{ CONFIG_TYPE: 'GRPC_XDS_SOTW' }, 'CONFIG_TYPE is not supported by this service; limits come from files'],
    [{ GRPC_CLIENT_TLS_SAN: 'envoy' }, 'GRPC_CLIENT_TLS_SAN is not supported'],
    [{ REDIS_TLS_CACERT: '/ca' }, 'give NODE_EXTRA_CA_CERTS the file of the authority'],
    [{ REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: 'true' }, 'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION is not supported'],
    [{ REDIS_SENTINEL_AUTH: 'x' }, 'REDIS_SENTINEL_AUTH is not supported'],
    [{ REDIS_URL: 'main,a:1', REDIS_TYPE: 'sentinel' }, 'REDIS_TYPE must be SINGLE or CLUSTER; for Sentinel'],
    [{ REDIS_URL: 'redis:1', REDIS_TLS: 'yes' }, 'REDIS_TLS must be true or false; got "yes"'],
    [{ REDIS_URL: 'redis:1', REDIS_SOCKET_TYPE: 'TLS1' }, 'REDIS_SOCKET_TYPE must be tcp, tls or unix; got "TLS1"'],
    [{ MERGE_DOMAIN_CONFIG: 'yes' }, 'MERGE_DOMAIN_CONFIG must be true or false; got "yes"'],
    [{ GRPC_MAX_CONNECTION_AGE: '24' }, 'GRPC_MAX_CONNECTION_AGE must be a duration such as 24h or 1h30m; got "24"'],
    [{ GRPC_SERVER_USE_TLS: 'true' }, 'have GRPC_SERVER_TLS_CERT and GRPC_SERVER_TLS_KEY beside it'],
  ])('%j stops the start, and says what to write', (environment, message) => {
    expect(() => readEnvironment(environment)).toThrow(message);
    expect(() => readEnvironment(environment)).toThrow(expect.objectContaining({ code: 'SLUICE_OPTION_INVALID' }));
  });

  it('quotes no password', () => {
    expect(() => readEnvironment({ REDIS_URL: 'redis://:hunter2@ host:x', REDIS_AUTH: 'hunter2' })).toThrow(
      /^(?!.*hunter2)/,
    );
  });
});
