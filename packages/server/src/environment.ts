import { isIP } from 'node:net';
import { join } from 'node:path';
import { SluiceError } from '@sluice/core';
import { parseDuration } from '@sluice/core/spi';
import type { ServerOptions, TlsOptions } from './options.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that say where the files are, and the defaults of envoyproxy/ratelimit. */
const RUNTIME = [
  ['RUNTIME_ROOT', '/srv/runtime_data/current'],
  ['RUNTIME_SUBDIRECTORY', ''],
  ['RUNTIME_APPDIRECTORY', 'config'],
] as const;
const HTTP_PORT = '8080';
const GRPC_PORT = '8081';
const ADMIN_PORT = '6070';
const OFF = /^(?:0|f|false|)$/i;
/** Variables that ask for other decisions than the service would make, with the values that do not. */
const UNSUPPORTED: readonly (readonly [name: string, harmless: RegExp, instead: string])[] = [
  ['SHADOW_MODE', OFF, 'write shadow_mode: true on each rule that should have it'],
  ['QUOTA_MODE', OFF, 'write quota_mode: true on each rule that should have it'],
  ['CONFIG_TYPE', /^(?:FILE|)$/, 'limits come from files: set RUNTIME_ROOT, or give --config'],
  ['BACKEND_TYPE', /^(?:redis|)$/, 'counts are in Redis, or without REDIS_URL in the memory of this process'],
  ['GRPC_CLIENT_TLS_SAN', /^$/, 'give GRPC_CLIENT_TLS_CACERT an authority that signs these clients alone'],
];
const REDIS_TYPES =
  'SINGLE or CLUSTER; for Sentinel call createServer with store: redisStore(new Redis({ sentinels, name }), { prefix })';

/**
 * Reads those variables of envoyproxy/ratelimit that are options here, so that the service can stand in its place in a
 * Deployment. With `RUNTIME_ROOT` or its like the listeners for gRPC and HTTP accept connections on every interface, as
 * there; the admin listener does so only with `DEBUG_HOST`, and then needs a token.
 *
 * @returns The options that it sets, and no other field.
 * @throws SluiceError `SLUICE_OPTION_INVALID` for a value that cannot be read, and for one that asks for other decisions.
 * No message quotes a password.
 */
export function readEnvironment(environment: Environment): Partial<ServerOptions> {
  for (const [name, harmless, instead] of UNSUPPORTED) {
    if (harmless.test(environment[name] ?? '')) continue;
    throw new SluiceError('SLUICE_OPTION_INVALID', `${name} is not supported by this service; ${instead}`);
  }
  /** An empty variable says as little as one that is not set. */
  const read = (name: string): string | undefined => environment[name] || undefined;
  const isDropIn = RUNTIME.some(([name]) => read(name) !== undefined);
  const listener = (host: string | undefined, name: string, byDefault: string): string | undefined => {
    const given = read(name);
    // Kubernetes gives pods beside a Service named `grpc` its address, under the name of a port.
    const port = given?.includes('://') === true ? undefined : given;
    if (!isDropIn && port === undefined && host === undefined) return undefined;
    const at = host ?? (isDropIn && byDefault !== ADMIN_PORT ? '0.0.0.0' : '127.0.0.1');
    return `${isIP(at) === 6 ? `[${at}]` : at}:${port ?? byDefault}`;
  };
  const host = read('HOST');
  // It is also where shells keep the name of the machine, which is no address to listen at.
  const isAddress = host === 'localhost' || isIP(host ?? '') > 0;
  const socket = read('GRPC_UDS');
  const age = read('GRPC_MAX_CONNECTION_AGE');
  const options: { readonly [Name in keyof ServerOptions]: ServerOptions[Name] | undefined } = {
    config: isDropIn ? join(...RUNTIME.map(([name, byDefault]) => read(name) ?? byDefault)) : undefined,
    grpc: socket === undefined ? listener(read('GRPC_HOST'), 'GRPC_PORT', GRPC_PORT) : `unix:${socket}`,
    http: listener(isAddress ? host : undefined, 'PORT', HTTP_PORT),
    admin: listener(read('DEBUG_HOST'), 'DEBUG_PORT', ADMIN_PORT),
    redis: readRedis(read),
    prefix: read('CACHE_KEY_PREFIX'),
    mergeDomains: readFlag(read, 'MERGE_DOMAIN_CONFIG'),
    maxConnectionAgeMs:
      age === undefined ? undefined : parseDuration(age, 'GRPC_MAX_CONNECTION_AGE', 'SLUICE_OPTION_INVALID', 0),
    tls: readTls(read),
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

type Read = (name: string) => string | undefined;

/** A flag, as Go reads one. */
function readFlag(read: Read, name: string): boolean | undefined {
  const text = read(name);
  if (text === undefined) return undefined;
  if (/^(?:1|t|true)$/i.test(text)) return true;
  if (OFF.test(text)) return false;
  throw invalid(name, 'true or false', text);
}

function readTls(read: Read): TlsOptions | undefined {
  if (readFlag(read, 'GRPC_SERVER_USE_TLS') !== true) return undefined;
  const [cert, key] = [read('GRPC_SERVER_TLS_CERT'), read('GRPC_SERVER_TLS_KEY')];
  if (cert !== undefined && key !== undefined)
    return { cert, key, clientCa: read('GRPC_CLIENT_TLS_CACERT'), listeners: ['grpc'] };
  const beside = 'GRPC_SERVER_TLS_CERT and GRPC_SERVER_TLS_KEY';
  throw invalid('GRPC_SERVER_USE_TLS', `false, or have ${beside} beside it`, 'true');
}

function readRedis(read: Read): string | undefined {
  const socket = read('REDIS_SOCKET_TYPE') ?? 'tcp';
  // A wrong one is not taken for none: what is meant to be encrypted would be sent in the clear.
  const isTls = readFlag(read, 'REDIS_TLS') === true || socket === 'tls';
  if (!/^(?:tcp|tls|unix)$/.test(socket)) throw invalid('REDIS_SOCKET_TYPE', 'tcp, tls or unix', socket);
  const given = read('REDIS_URL');
  if (given === undefined) return undefined;
  const type = read('REDIS_TYPE') ?? 'SINGLE';
  if (!/^(?:single|cluster)$/i.test(type)) throw invalid('REDIS_TYPE', REDIS_TYPES, type);
  const [, user = '', password] = /^(?:([^:]*):)?(.*)$/s.exec(read('REDIS_AUTH') ?? '') ?? [];
  const access = password ? `${encodeURIComponent(user)}:${encodeURIComponent(password)}@` : '';
  const urls = given.split(',').map((one) => readUrl(one.trim(), access, isTls));
  if (type.toUpperCase() === 'CLUSTER' && urls.length === 1) urls.push(...urls);
  return urls.join(',');
}

/** `host:port`, a URL, or the path of a Unix socket, with the user and password that are given beside it. */
function readUrl(text: string, access: string, isTls: boolean): string {
  if (text.startsWith('/')) return access === '' ? text : `unix://${access}${text}`;
  const url = /^[a-z]+:\/\//i.test(text) ? text : `redis://${text}`;
  if (!URL.canParse(url)) {
    const expected = 'host:port, redis://host:port or the path of a socket';
    throw new SluiceError('SLUICE_OPTION_INVALID', `REDIS_URL must be ${expected}`); // it may hold a password
  }
  const { username, password } = new URL(url);
  const withAccess = username === '' && password === '' ? url.replace('://', `://${access}`) : url;
  return isTls ? withAccess.replace(/^redis:/i, 'rediss:') : withAccess;
}

function invalid(name: string, expected: string, got: string): SluiceError {
  return new SluiceError('SLUICE_OPTION_INVALID', `${name} must be ${expected}; got ${JSON.stringify(got)}`);
}
