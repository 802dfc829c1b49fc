import type { Command } from 'commander';
import { parseDuration } from '@sluice/old-core/spi';
import type { ServerOptions, TlsListenerName } from '@sluice/server';
import { UsageError } from '@sluice/simulate/terminal';

/** The options of `sluice serve` as they are written. */
export interface ServeFlags {
  readonly config?: string;
  readonly check?: true;
  readonly grpc?: string;
  readonly http?: string;
  readonly sentinel?: string;
  readonly admin?: string;
  readonly workers: string;
  readonly token?: string;
  readonly hostName?: readonly string[];
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsClientCa?: string;
  readonly tlsListeners?: string;
  readonly timeout?: string;
  readonly maxConnectionAge?: string;
  readonly maxInFlight?: string;
  readonly drain?: string;
  readonly shutdownDelay: string;
  readonly mergeDomains?: true;
  readonly app?: string;
}

/** The options of `sluice serve`. */
export interface ServeOptions {
  readonly server: ServerOptions;
  readonly workers: number;
  /** How long all is still served after a SIGTERM, while health says NOT_SERVING. */
  readonly shutdownDelayMs: number;
  readonly check: boolean;
  readonly json: boolean;
}

const MOST_WORKERS = 256;
/** The longest wait of a timer of Node, in whole days. */
const LONGEST_DELAY_MS = 24 * 86_400_000;

/**
 * The flags, and what the environment says where there is no flag. Prints a line for each name of the environment that
 * means nothing here.
 *
 * @throws (rejects) UsageError.
 */
export async function readServeOptions(flags: ServeFlags, command: Command): Promise<ServeOptions> {
  const { readEnvironment } = await import('@sluice/server');
  const { options, warnings } = usable(() => readEnvironment(process.env));
  const server = { ...options, ...definedOf(flagsOf(flags, command)) };
  const workers = wholeNumber(flags.workers, '--workers', 1, MOST_WORKERS);
  if (workers > 1 && server.redis === undefined) {
    throw new UsageError(`--workers ${String(workers)} needs --redis: each process would count for itself`);
  }
  const { config } = server;
  if (config === undefined) {
    throw new UsageError('--config is needed: the path of the file of limits, or of a folder of them');
  }
  warn(warnings);
  return {
    server: { ...server, config },
    workers,
    shutdownDelayMs: shutdownDelayOf(flags.shutdownDelay),
    check: flags.check === true,
    json: command.optsWithGlobals()['json'] === true,
  };
}

/** @throws UsageError where the environment cannot be used. */
function usable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function flagsOf(flags: ServeFlags, command: Command): Partial<ServerOptions> {
  const { config, grpc, http, sentinel, admin, token, mergeDomains, app } = flags;
  return {
    ...{ config, grpc, http, sentinel, admin, token, mergeDomains, app },
    redis: given(command, 'redis'),
    prefix: given(command, 'prefix'),
    hostNames: flags.hostName,
    tls: tlsOf(flags),
    timeoutMs: durationOf(flags.timeout, '--timeout'),
    maxConnectionAgeMs: durationOf(flags.maxConnectionAge, '--max-connection-age'),
    drainMs: durationOf(flags.drain, '--drain'),
    maxInFlight:
      flags.maxInFlight === undefined ? undefined : wholeNumber(flags.maxInFlight, '--max-in-flight', 1, 1_000_000),
  } as Partial<ServerOptions>;
}

/** An option of every command, if the command line or the environment has it: its default is not meant for this one. */
function given(command: Command, name: string): string | undefined {
  return command.getOptionValueSourceWithGlobals(name) === 'default'
    ? undefined
    : (command.optsWithGlobals()[name] as string);
}

function tlsOf(flags: ServeFlags): ServerOptions['tls'] {
  const { tlsCert: cert, tlsKey: key, tlsClientCa: clientCa, tlsListeners } = flags;
  if ([cert, key, clientCa, tlsListeners].every((flag) => flag === undefined)) return undefined;
  if (cert === undefined || key === undefined) {
    throw new UsageError('--tls-cert and --tls-key belong together; without both nothing is served with TLS');
  }
  const listeners = tlsListeners?.split(',').map((name) => name.trim()) as TlsListenerName[] | undefined;
  return { cert, key, clientCa, listeners };
}

function shutdownDelayOf(text: string): number {
  const delayMs = durationOf(text, '--shutdown-delay');
  if (delayMs <= LONGEST_DELAY_MS) return delayMs;
  throw new UsageError(`--shutdown-delay must be at most 24d, got ${JSON.stringify(text)}`);
}

/** A duration, or 0 without a unit. */
function durationOf(text: string, flag: string): number;
function durationOf(text: string | undefined, flag: string): number | undefined;
function durationOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  return text === '0' ? 0 : parseDuration(text, flag);
}

function wholeNumber(text: string, flag: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(
    `${flag} must be a whole number from ${String(least)} to ${String(most)}, got ${JSON.stringify(text)}`,
  );
}

function definedOf<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function warn(warnings: readonly string[]): void {
  for (const warning of warnings) console.error(`sluice: ${warning}`);
}
