import cluster from 'node:cluster';
import type { ServerOptions } from '@sluice/server';
import { EXIT, Failure, UsageError } from './failure.ts';
import type { ServeOptions } from './serve-options.ts';
import { printable } from './table.ts';

/**
 * Serves until a signal ends it, or (`check`) reads the configuration and ends.
 *
 * @throws (rejects) UsageError for a wrong configuration or option; Failure; what cannot be listened on.
 */
export async function serve({ server, workers, check, json }: ServeOptions): Promise<void> {
  const options = { ...server, log };
  if (check) await checkOnly(options);
  else if (cluster.isWorker) await beWorker(options);
  else if (workers === 1) await serveAlone(options, json);
  else await supervise(workers, json);
}

async function checkOnly(options: ServerOptions): Promise<void> {
  const { checkConfiguration } = await import('@sluice/server');
  const { domains, limits, forwardAuthRules } = await usable(checkConfiguration(options));
  const counts = [
    `${String(domains)} domains`,
    `${String(limits)} limits`,
    `${String(forwardAuthRules)} rules of forward auth`,
  ];
  console.log(`${options.config} can be used: ${counts.join(', ')}`);
}

async function serveAlone(options: ServerOptions, json: boolean): Promise<void> {
  const { createServer } = await import('@sluice/server');
  const running = await usable(createServer(options));
  process.on('SIGHUP', () => void running.reload());
  const ended = untilSignal(() => {
    process.exit(EXIT.failed);
  });
  tellReady(running.addresses, 1, json);
  await ended;
  await running.close();
}

async function supervise(workers: number, json: boolean): Promise<void> {
  const { superviseWorkers, WorkerFailed } = await import('@sluice/server');
  try {
    const supervised = await superviseWorkers({ workers, log });
    process.on('SIGHUP', () => {
      supervised.reload();
    });
    const ended = untilSignal(() => {
      supervised.kill();
      process.exit(EXIT.failed);
    });
    tellReady(supervised.addresses, workers, json);
    await ended;
    await supervised.close();
  } catch (error) {
    // The worker has printed why.
    if (error instanceof WorkerFailed && error.exitCode !== 0) process.exit(error.exitCode);
    throw error;
  }
}

/** The process that has started this one hears the signals of a terminal too, and passes them on. */
async function beWorker(options: ServerOptions): Promise<void> {
  const { createServer, joinWorkers } = await import('@sluice/server');
  const link = joinWorkers();
  const closed = new Promise<void>((resolve) => {
    const close = (): void => {
      resolve();
    };
    link.onClose(close);
    process.on('SIGTERM', close);
    process.on('SIGINT', () => undefined);
    process.on('SIGHUP', () => undefined);
  });
  const running = await usable(createServer({ ...options, siblings: link.siblings }));
  link.onReload(() => void running.reload());
  link.ready(running.addresses);
  await closed;
  await running.close();
  process.disconnect();
}

/** Resolves at the first signal to end; the second one does not wait. */
async function untilSignal(atSecond: () => void): Promise<void> {
  await new Promise<void>((resolve) => {
    let signals = 0;
    const stop = (): void => {
      if (signals++ > 0) atSecond();
      else resolve();
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
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

/** What is wrong with options and files, as errors of this command. */
async function usable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { name, message, code, cause } = error as NodeJS.ErrnoException;
    if (name === 'ConfigurationError') throw new UsageError(message, { cause: error });
    if (/^SLUICE_OPTION_/.test(code ?? '')) throw new UsageError(message, { cause: error });
    if (code === 'EADDRINUSE' || code === 'EACCES' || code === 'EADDRNOTAVAIL') {
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
