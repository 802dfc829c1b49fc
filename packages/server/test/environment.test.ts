import { describe, expect, it } from '@jest/globals';
import { readEnvironment } from '../src/environment.ts';
import type { ServerOptions } from '../src/index.ts';

const ROOT = { RUNTIME_ROOT: '/data', RUNTIME_SUBDIRECTORY: 'ratelimit' };

describe('the environment of envoyproxy/ratelimit', () => {
  it('sets nothing where it has none of the names', () => {
    expect(readEnvironment({ PATH: '/bin', HOME: '/root', REDIS: 'x' })).toEqual({});
  });

  it('puts the service in its place with the name of a folder alone', () => {
    expect(readEnvironment(ROOT)).toEqual({
      config: '/data/ratelimit/config',
      grpc: '0.0.0.0:8081',
      http: '0.0.0.0:8080',
      admin: '127.0.0.1:6070',
    });
    expect(readEnvironment({ RUNTIME_SUBDIRECTORY: 'ratelimit' }).config).toBe(
      '/srv/runtime_data/current/ratelimit/config',
    );
    expect(readEnvironment({ ...ROOT, RUNTIME_APPDIRECTORY: 'limits' }).config).toBe('/data/ratelimit/limits');
  });

  it.each<[Readonly<Record<string, string>>, Partial<ServerOptions>]>([
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
    [{ GRPC_MAX_CONNECTION_AGE: '24h' }, { maxConnectionAgeMs: 86_400_000 }],
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
    [{ HOST: 'build-7' }, {}], // where shells keep the name of the machine
    [{ GRPC_PORT: 'tcp://10.96.0.7:8081' }, {}], // what Kubernetes gives for a Service named grpc
    [{ LOG_LEVEL: 'debug', BACKEND_TYPE: 'redis', SHADOW_MODE: 'false' }, {}],
  ])('%j is %j', (environment, options) => {
    expect(readEnvironment(environment)).toEqual(options);
  });

  it.each<[Readonly<Record<string, string>>, string]>([
    [{ SHADOW_MODE: 'true' }, 'SHADOW_MODE is not supported by this service; write shadow_mode: true'],
    [{ QUOTA_MODE: '1' }, 'QUOTA_MODE is not supported by this service'],
    [{ BACKEND_TYPE: 'memcache' }, 'BACKEND_TYPE is not supported by this service'],
    [{ CONFIG_TYPE: 'GRPC_XDS_SOTW' }, 'CONFIG_TYPE is not supported by this service; limits come from files'],
    [{ GRPC_CLIENT_TLS_SAN: 'envoy' }, 'GRPC_CLIENT_TLS_SAN is not supported'],
    [{ REDIS_URL: 'main,a:1', REDIS_TYPE: 'sentinel' }, 'REDIS_TYPE must be SINGLE or CLUSTER; for Sentinel'],
    [{ REDIS_URL: 'redis:1', REDIS_TLS: 'yes' }, 'REDIS_TLS must be true or false; got "yes"'],
    [{ REDIS_URL: 'redis:1', REDIS_SOCKET_TYPE: 'TLS1' }, 'REDIS_SOCKET_TYPE must be tcp, tls or unix; got "TLS1"'],
    [{ MERGE_DOMAIN_CONFIG: 'yes' }, 'MERGE_DOMAIN_CONFIG must be true or false; got "yes"'],
    [{ GRPC_MAX_CONNECTION_AGE: '24' }, 'GRPC_MAX_CONNECTION_AGE must be'],
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
