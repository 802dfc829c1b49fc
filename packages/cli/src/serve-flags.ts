import { Option, type Command } from 'commander';
import { writeDuration } from '@sluice/core/spi';
import type { ServerOptions } from '@sluice/server';
import { UsageError } from './failure.ts';
import { parseFlagDuration } from './text.ts';

/** The options of `sluice serve`. */
export interface ServeOptions {
  readonly server: ServerOptions;
  readonly workers: number;
  /** How long requests are still served after a SIGTERM, while health reports NOT_SERVING. */
  readonly shutdownDelayMs: number;
  readonly check: boolean;
}

interface Flags extends Pick<ServerOptions, 'config' | 'grpc' | 'http' | 'sentinel' | 'admin' | 'token' | 'app'> {
  readonly redis: string;
  readonly prefix: string;
  readonly workers?: number;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsClientCa?: string;
  readonly timeout?: number;
  readonly sentinelTimeout?: number;
  readonly drain?: number;
  readonly shutdownDelay?: number;
  readonly check?: true;
}

const MAX_WORKERS = 256;
const SHUTDOWN_DELAY_MS = 2000;
/** The longest wait of a Node timer, in whole days. */
const MAX_DELAY_MS = 24 * 86_400_000;

/** Adds the flags of `sluice serve`. */
export function addServeFlags(command: Command): void {
  const duration = (flags: string, description: string): Option => {
    const option = new Option(flags, description);
    return option.argParser((text) => (text === '0' ? 0 : parseFlagDuration(text, option.long ?? '')));
  };
  command
    .requiredOption('--config <path>', 'file or folder of limits, read on each change')
    .option('--grpc <address>', "Envoy's rate limit service (default: 8081)")
    .option('--http <address>', '/auth, /json, /v1, /metrics (default: 8080)')
    .option('--sentinel <address>', "Sentinel's token clients (default: off)")
    .option('--admin <address>', "the operators' page, /metrics (default: 6070)")
    .option('--workers <number>', 'processes, with --redis (default: 1)', readWorkers)
    .option('--tls-cert <path>', 'the certificate of the listeners, as PEM')
    .option('--tls-key <path>', 'its key')
    .option('--tls-client-ca <path>', 'require client certificates from this CA')
    .addOption(duration('--timeout <duration>', 'the longest wait for Redis, except for Sentinel (default: 100ms)'))
    .addOption(duration('--sentinel-timeout <duration>', 'the same for Sentinel (default: 15ms)'))
    .addOption(duration('--drain <duration>', 'how long running requests may still take (default: 10s)'))
    .addOption(duration('--shutdown-delay <duration>', 'how long to keep serving after SIGTERM (default: 2s)'))
    .option('--app <name>', 'its name in apps of managed policies (default: sluice-server)')
    .option('--check', 'check the limits, print errors, and exit')
    .addOption(new Option('--token <text>', 'secret to change keys from beyond the loopback').env('SLUICE_TOKEN'));
}

/** @throws UsageError. */
export function readServeFlags(command: Command): ServeOptions {
  const flags = command.optsWithGlobals<Flags>();
  const { config, grpc, http, sentinel, admin, token, app, workers = 1, check = false } = flags;
  const { shutdownDelay: shutdownDelayMs = SHUTDOWN_DELAY_MS } = flags;
  // Their defaults are not meant for the service.
  const given = (name: 'redis' | 'prefix'): string | undefined =>
    command.getOptionValueSourceWithGlobals(name) === 'default' ? undefined : flags[name];
  const redis = given('redis');
  if (workers > 1 && redis === undefined)
    throw new UsageError(`--workers ${String(workers)} needs --redis, or each process would count separately`);
  if (shutdownDelayMs > MAX_DELAY_MS)
    throw new UsageError(`--shutdown-delay must be at most 24d, got "${writeDuration(shutdownDelayMs)}"`);
  const server = {
    ...{ config, grpc, http, sentinel, admin, token, app, redis, prefix: given('prefix'), tls: readTls(flags) },
    ...{ timeoutMs: flags.timeout, sentinelTimeoutMs: flags.sentinelTimeout, drainMs: flags.drain },
  };
  return { server, workers, shutdownDelayMs, check };
}

function readWorkers(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= MAX_WORKERS) return value;
  const expected = `a whole number from 1 to ${String(MAX_WORKERS)}`;
  throw new UsageError(`--workers must be ${expected}, got ${JSON.stringify(text)}`);
}

function readTls({ tlsCert: cert, tlsKey: key, tlsClientCa: clientCa }: Flags): ServerOptions['tls'] {
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  if (cert !== undefined && key !== undefined) return { cert, key, clientCa };
  throw new UsageError('--tls-cert and --tls-key belong together; without both nothing is served with TLS');
}
