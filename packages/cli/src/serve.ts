import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Command } from 'commander';
import type { ServerOptions, SupervisedWorkers } from '@sluice/server';
import { EXIT, Failure, UsageError } from './failure.ts';
import { addServeFlags, readServeFlags, type ServeOptions } from './serve-flags.ts';
import { readGlobals } from './session.ts';
import { printable } from './text.ts';

/** Adds `sluice serve`. */
export function addServe(sluice: Command): void {
  const command = sluice
    .command('serve')
    .summary('serve limits to Envoy, to gateways and to programs')
    .description(
      "Answers Envoy's rate limit protocol, forward auth requests of gateways, and programs over HTTP, by the limits in a file. Counts in Redis with --redis, otherwise in memory.",
    );
  addServeFlags(command);
  command
    .addHelpText(
      'after',
      `\nAn address is port, host:port or off; a port without a host is on the loopback.\nSIGTERM drains, SIGINT drains without delay, SIGHUP reloads the limits.`,
    )
    .action(async () => {
      await serve(readServeFlags(command), readGlobals(command).json === true);
    });
}

/**
 * Serves until a signal ends it or, with `check`, reads the configuration and ends.
 *
 * @throws (rejects) UsageError for a wrong configuration or option; Failure; errors of listening.
 */
async function serve({ server, workers, shutdownDelayMs, check }: ServeOptions, json: boolean): Promise<void> {
  const options = { ...server, log };
  if (check) return checkOnly(options);
  if (cluster.isWorker) return runWorker(options, shutdownDelayMs);
  const serving = workers === 1 ? await startHere(options) : await startWorkers(workers);
  process.on('SIGHUP', () => void serving.reload());
  const ended = waitForSignal(() => {
    serving.kill();
    process.exit(EXIT.failed);
  });
  tellReady(serving.addresses, workers, json);
  return serving.close({ delayMs: getDelay(await ended, shutdownDelayMs) });
}

/**
 * Makes V8 collect garbage in small steps (ADR 110): no objects are allocated directly in the old generation, as most
 * objects of a call otherwise are after a busy second, and the old generation is collected whenever it has grown by 40
 * %.
 */
function keepPausesShort(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=40');
}

/** Collects the garbage of the start: V8 measures growth from the first collection, which would otherwise come late. */
function collectStart(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('globalThis.gc') as (() => void) | undefined)?.();
  setFlagsFromString('--no-expose-gc');
}

async function checkOnly(options: ServerOptions): Promise<void> {
  const { checkConfiguration } = await import('@sluice/server');
  const { domains, limits, forwardAuthRules, sentinelRules } = await usable(checkConfiguration(options));
  const counts = [
    counted(domains, 'domain'),
    counted(limits, 'limit'),
    counted(forwardAuthRules, 'rule of forward auth'),
    ...(sentinelRules === 0 ? [] : [counted(sentinelRules, 'rule of Sentinel')]),
  ];
  console.log(`${options.config} can be used: ${counts.join(', ')}`);
}

/** `1 domain`, `2 domains`. */
function counted(count: number, what: string): string {
  return `${String(count)} ${count === 1 ? what : what.replace(/^\w+/, '$&s')}`;
}

/** A service in this process, or in several. */
type Serving = Pick<SupervisedWorkers, 'addresses' | 'close' | 'kill'> & { reload(): unknown };

async function startHere(options: ServerOptions): Promise<Serving> {
  keepPausesShort();
  const { createServer } = await import('@sluice/server');
  const running = await usable(createServer(options));
  collectStart();
  return { ...running, kill: () => undefined };
}

async function startWorkers(workers: number): Promise<Serving> {
  const { superviseWorkers, WorkerFailed } = await import('@sluice/server');
  try {
    return await superviseWorkers({ workers, log });
  } catch (error) {
    // The worker has printed why.
    if (error instanceof WorkerFailed && error.exitCode !== 0) process.exit(error.exitCode);
    throw error;
  }
}

/** The process that started this one also receives the terminal's signals, and passes them on. */
async function runWorker(options: ServerOptions, shutdownDelayMs: number): Promise<void> {
  keepPausesShort();
  const { createServer, joinWorkers } = await import('@sluice/server');
  const link = joinWorkers();
  const closed = new Promise<number>((resolve) => {
    link.onClose(resolve);
    process.on('SIGTERM', () => {
      resolve(shutdownDelayMs);
    });
    process.on('SIGINT', () => undefined);
    process.on('SIGHUP', () => undefined);
  });
  const running = await usable(createServer({ ...options, siblings: link.siblings }));
  collectStart();
  link.onReload(() => void running.reload());
  link.ready(running.addresses);
  await running.close({ delayMs: await closed });
  process.disconnect();
}

/** Resolves with the first signal to end; a second signal ends at once. */
async function waitForSignal(atSecond: () => void): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let signals = 0;
    const stop = (signal: NodeJS.Signals): void => {
      if (signals++ > 0) atSecond();
      else resolve(signal);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}

/** After Ctrl-C, there is no wait for gateways. */
function getDelay(signal: NodeJS.Signals, shutdownDelayMs: number): number {
  return signal === 'SIGTERM' ? shutdownDelayMs : 0;
}

function tellReady(addresses: Readonly<Partial<Record<string, string>>>, workers: number, json: boolean): void {
  const listeners = Object.entries(addresses).map(([name, address]) => `${name} ${String(address)}`);
  const processes = workers === 1 ? '' : `, ${String(workers)} workers`;
  console.log(
    json
      ? JSON.stringify({ ready: true, ...addresses, workers })
      : `sluice is ready: ${listeners.join(', ')}${processes}`,
  );
}

/** Turns errors about options and files into this command's errors. */
async function usable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { name, message, code, cause } = error as NodeJS.ErrnoException;
    if (name === 'ConfigurationError') throw new UsageError(message, { cause: error });
    if (/^SLUICE_OPTION_/.test(code ?? '')) throw new UsageError(message, { cause: error });
    if (/^(?:grpc|http|admin): /.test(message)) {
      throw new Failure(`cannot listen: ${message}`, { cause: error });
    }
    if (cause !== undefined && /^cannot read/.test(message)) throw new UsageError(message, { cause: error });
    throw error;
  }
}

function log(line: string): void {
  console.error(
    line
      .split('\n')
      .map((one) => `sluice: ${printable(one)}`)
      .join('\n'),
  );
}
