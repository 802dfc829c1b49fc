import type { Command, Option } from 'commander';
import { Option as OptionOf } from 'commander';
import { parseDuration, writeDuration } from '@sluice/core/spi';
import type { ServerOptions, TlsListenerName } from '@sluice/server';
import { UsageError } from './failure.ts';
import { repeated } from './session.ts';

/** The options of `sluice serve`. */
export interface ServeOptions {
  readonly server: ServerOptions;
  readonly workers: number;
  /** How long all is still served after a SIGTERM, while health says NOT_SERVING. */
  readonly shutdownDelayMs: number;
  readonly check: boolean;
}

type Read = (text: string, flag: string) => unknown;

const asIs: Read = (text) => text;
/** A duration, or 0 without a unit. */
const duration: Read = (text, flag) => (text === '0' ? 0 : parseDuration(text, flag));
const count =
  (max: number): Read =>
  (text, flag) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
    throw new UsageError(`${flag} must be a whole number from 1 to ${String(max)}, got ${JSON.stringify(text)}`);
  };

/** Each flag with its value, the option of `createServer` that it sets, and its reader. */
const FLAGS: readonly (readonly [flags: string, option: string, read: Read, description: string])[] = [
  ['--config <path>', 'config', asIs, 'file or folder of limits, read on each change'],
  ['--grpc <address>', 'grpc', asIs, "Envoy's rate limit service (default: 8081)"],
  ['--http <address>', 'http', asIs, '/auth, /json, /v1, /metrics (default: 8080)'],
  ['--sentinel <address>', 'sentinel', asIs, "Sentinel's token clients (default: off)"],
  ['--admin <address>', 'admin', asIs, "the operators' page, /metrics (default: 6070)"],
  ['--workers <number>', 'workers', count(256), 'processes, with --redis (default: 1)'],
  ['--tls-cert <path>', 'cert', asIs, 'the certificate of the listeners, as PEM'],
  ['--tls-key <path>', 'key', asIs, 'its key'],
  ['--tls-client-ca <path>', 'clientCa', asIs, 'the CA that clients need a certificate of'],
  ['--tls-listeners <names>', 'listeners', asIs, 'listeners with TLS (default: grpc,http)'],
  ['--timeout <duration>', 'timeoutMs', duration, 'the longest wait for Redis, but for Sentinel (default: 100ms)'],
  ['--sentinel-timeout <duration>', 'sentinelTimeoutMs', duration, 'the same for Sentinel (default: 15ms)'],
  ['--max-connection-age <duration>', 'maxConnectionAgeMs', duration, 'of gRPC; 0 is without end (default: 1d)'],
  [
    '--max-in-flight <number>',
    'maxInFlight',
    count(1_000_000),
    'requests at once, of each listener and process (default: 1024)',
  ],
  ['--drain <duration>', 'drainMs', duration, 'how long requests may go on (default: 10s)'],
  ['--shutdown-delay <duration>', 'shutdownDelayMs', duration, 'how long to serve on SIGTERM (default: 2s)'],
  ['--app <name>', 'app', asIs, 'its name in policies (default: sluice-server)'],
];
const TLS = ['cert', 'key', 'clientCa', 'listeners'];
const SHUTDOWN_DELAY_MS = 2000;
/** The longest wait of a timer of Node, in whole days. */
const MAX_DELAY_MS = 24 * 86_400_000;

/** Adds the flags of `sluice serve`. */
export function addServeFlags(command: Command): void {
  for (const [flags, , read, description] of FLAGS) {
    const option: Option = new OptionOf(flags, description);
    command.addOption(option.argParser((text) => read(text, option.long ?? '')));
  }
  command
    .option('--check', 'print what is wrong in the limits, and end')
    .option('--merge-domains', 'several files may have rules of one domain')
    .addOption(
      new OptionOf('--token <text>', 'what callers beyond the loopback send to change keys').env('SLUICE_TOKEN'),
    )
    .addOption(repeated('--host-name <name>', 'a name of the loopback; may be repeated'));
}

/** @throws UsageError. */
export function readServeFlags(command: Command): ServeOptions {
  const all: Readonly<Record<string, unknown>> = command.optsWithGlobals();
  const own = (flags: string): unknown => all[new OptionOf(flags).attributeName()];
  const given = FLAGS.map(([flags, option]) => [option, own(flags)] as const).filter(
    ([, value]) => value !== undefined,
  );
  const {
    workers = 1,
    shutdownDelayMs = SHUTDOWN_DELAY_MS,
    ...rest
  } = Object.fromEntries(given) as {
    readonly workers?: number;
    readonly shutdownDelayMs?: number;
  } & Partial<ServerOptions>;
  const more = { token: all['token'], mergeDomains: all['mergeDomains'], hostNames: all['hostName'] };
  // Their defaults are not meant for the service.
  const shared = ['redis', 'prefix'].filter((name) => command.getOptionValueSourceWithGlobals(name) !== 'default');
  const tls = readTls(given.filter(([option]) => TLS.includes(option)));
  const server = {
    ...Object.fromEntries(Object.entries(rest).filter(([option]) => !TLS.includes(option))),
    ...Object.fromEntries(shared.map((name) => [name, all[name] as string])),
    ...Object.fromEntries(Object.entries({ ...more, tls }).filter(([, value]) => value !== undefined)),
  } as Partial<ServerOptions>;
  if (workers > 1 && server.redis === undefined)
    throw new UsageError(`--workers ${String(workers)} needs --redis: each process would count for itself`);
  if (shutdownDelayMs > MAX_DELAY_MS)
    throw new UsageError(`--shutdown-delay must be at most 24d, got "${writeDuration(shutdownDelayMs)}"`);
  const { config } = server;
  if (config === undefined)
    throw new UsageError('--config is needed: the path of the file of limits, or of a folder of them');
  return { server: { ...server, config }, workers, shutdownDelayMs, check: all['check'] === true };
}

function readTls(given: readonly (readonly [string, unknown])[]): ServerOptions['tls'] {
  if (given.length === 0) return undefined;
  const { cert, key, clientCa, listeners } = Object.fromEntries(given) as Partial<Record<string, string>>;
  if (cert === undefined || key === undefined)
    throw new UsageError('--tls-cert and --tls-key belong together; without both nothing is served with TLS');
  const names = listeners?.split(',').map((name) => name.trim()) as TlsListenerName[] | undefined;
  return { cert, key, clientCa, listeners: names };
}
