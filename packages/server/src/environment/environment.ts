import { isIP } from 'node:net';
import { join } from 'node:path';
import { SluiceError } from '@sluice/core';
import type { ServerOptions, TlsOptions } from '../options.ts';
import { goDurationMs } from './go-duration.ts';
import { invalid, isText, readBoolean, type Environment } from './variables.ts';
import { IGNORED, UNSUPPORTED } from './ignored-names.ts';
import { redisFromEnvironment } from './redis-urls.ts';

/** The settings of an environment. */
export interface EnvironmentOptions {
  /** The options that it sets, and no other field. */
  readonly options: Partial<ServerOptions>;
  /** What is set and means nothing here, and why. */
  readonly warnings: readonly string[];
}

const RUNTIME = ['RUNTIME_ROOT', 'RUNTIME_SUBDIRECTORY', 'RUNTIME_APPDIRECTORY'] as const;
const PORTS = ['PORT', 'GRPC_PORT', 'DEBUG_PORT'] as const;
/**
 * The variables that Kubernetes gives pods beside a Service named `grpc` or `debug`: its address, under the name of a
 * port.
 */
const LINK = /^(?:tcp|udp|sctp):\/\//;
/** The defaults of envoyproxy/ratelimit for names that are not set. */
const DEFAULTS = {
  root: '/srv/runtime_data/current',
  folder: 'config',
  host: '0.0.0.0',
  http: '8080',
  grpc: '8081',
  admin: '6070',
};

/**
 * Reads the environment of envoyproxy/ratelimit, so that the service can stand in its place in a Deployment. With
 * `RUNTIME_ROOT` or its like the listeners for gRPC and HTTP accept connections on every interface, as there; the admin
 * listener does so only with `DEBUG_HOST`, and then needs a token.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` for a value that cannot be read, and for one that asks for what the
 * service does not do and that would make it allow or deny other requests. No message quotes a password.
 */
export function readEnvironment(environment: Environment): EnvironmentOptions {
  const { host, warnings } = hostOf(environment);
  const links = PORTS.filter((name) => LINK.test(environment[name] ?? ''));
  const isDropIn = RUNTIME.some((name) => isSet(environment, name));
  const address = (
    names: { readonly host: string | undefined; readonly port: (typeof PORTS)[number] },
    byDefault: string,
  ): string | undefined => {
    const port = links.includes(names.port) ? undefined : environment[names.port];
    if (!isDropIn && !isText(port) && !isText(names.host)) return undefined;
    const at = isText(names.host) ? names.host : isDropIn && byDefault !== DEFAULTS.admin ? DEFAULTS.host : '127.0.0.1';
    return `${isIP(at) === 6 ? `[${at}]` : at}:${isText(port) ? port : byDefault}`;
  };
  const grpcSocket = environment['GRPC_UDS'];
  const options = withoutUndefined({
    config: isDropIn ? configOf(environment) : undefined,
    grpc: isText(grpcSocket)
      ? `unix:${grpcSocket}`
      : address({ host: environment['GRPC_HOST'], port: 'GRPC_PORT' }, DEFAULTS.grpc),
    http: address({ host, port: 'PORT' }, DEFAULTS.http),
    admin: address({ host: environment['DEBUG_HOST'], port: 'DEBUG_PORT' }, DEFAULTS.admin),
    redis: redisFromEnvironment(environment),
    prefix: isText(environment['CACHE_KEY_PREFIX']) ? environment['CACHE_KEY_PREFIX'] : undefined,
    mergeDomains: readBoolean(environment, 'MERGE_DOMAIN_CONFIG'),
    maxConnectionAgeMs: readDuration(environment, 'GRPC_MAX_CONNECTION_AGE'),
    tls: tlsOf(environment),
  });
  return { options, warnings: [...warnings, ...links.map(linkWarning), ...ignoredOf(environment)] };
}

function configOf(environment: Environment): string {
  const [root, subdirectory, folder] = RUNTIME.map((name) => environment[name]);
  return join(isText(root) ? root : DEFAULTS.root, subdirectory ?? '', isText(folder) ? folder : DEFAULTS.folder);
}

/** `HOST` is also where shells keep the name of the machine: a name is no address to listen at. */
function hostOf(environment: Environment): { readonly host: string | undefined; readonly warnings: readonly string[] } {
  const host = environment['HOST'];
  if (!isText(host) || isIP(host) > 0 || host === 'localhost') return { host, warnings: [] };
  return { host: undefined, warnings: ['HOST is ignored: it is not an address; write --http host:port'] };
}

function linkWarning(name: string): string {
  return `${name} is ignored: it is the address that Kubernetes gives for a Service of this name; write enableServiceLinks: false in the pod`;
}

function tlsOf(environment: Environment): TlsOptions | undefined {
  if (readBoolean(environment, 'GRPC_SERVER_USE_TLS') !== true) return undefined;
  const [cert, key, clientCa] = [
    environment['GRPC_SERVER_TLS_CERT'],
    environment['GRPC_SERVER_TLS_KEY'],
    environment['GRPC_CLIENT_TLS_CACERT'],
  ];
  if (!isText(cert) || !isText(key)) {
    throw invalid(
      'GRPC_SERVER_USE_TLS',
      'false, or have GRPC_SERVER_TLS_CERT and GRPC_SERVER_TLS_KEY beside it',
      'true',
    );
  }
  return { cert, key, ...(isText(clientCa) ? { clientCa } : {}), listeners: ['grpc'] };
}

function readDuration(environment: Environment, name: string): number | undefined {
  const text = environment[name];
  if (!isText(text)) return undefined;
  const ms = goDurationMs(text);
  if (ms === undefined) throw invalid(name, 'a duration such as 24h or 1h30m', text);
  return ms;
}

/** @throws SluiceError for names that ask for what the service does not do. */
function ignoredOf(environment: Environment): readonly string[] {
  for (const [name, [harmless, instead]] of Object.entries(UNSUPPORTED)) {
    // The value is not shown: of some names it is a secret.
    if (harmless.test(environment[name] ?? '')) continue;
    throw new SluiceError('SLUICE_OPTION_INVALID', `${name} is not supported by this service; ${instead}`);
  }
  const names = Object.keys(environment).filter((name) => IGNORED.test(name) && isSet(environment, name));
  if (names.length === 0) return [];
  return [`these names of envoyproxy/ratelimit mean nothing here: ${names.sort().join(', ')}`];
}

function isSet(environment: Environment, name: string): boolean {
  return isText(environment[name]);
}

function withoutUndefined<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
