import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { CloseOptions } from '../options.ts';
import { sumUp, type StatsReport } from '../stats/siblings.ts';
import type { FromWorker, ToWorker } from './messages.ts';

export interface SuperviseOptions {
  /** How many processes: each runs this program again, as a worker of `node:cluster`. */
  readonly workers: number;
  /** Called with what operators should know. */
  readonly log: (line: string) => void;
}

/** Processes that share the listeners of one service. */
export interface SupervisedWorkers {
  /** Where they accept connections. */
  readonly addresses: Readonly<Partial<Record<string, string>>>;
  /** Every process reloads its configuration. */
  reload(): void;
  /** Every process answers running requests and ends, like a server's `close`. Later calls return the same promise. */
  close(options?: CloseOptions): Promise<void>;
  /** Ends all at once. */
  kill(): void;
}

/** A worker ended before it accepted connections. It has printed why. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed';
  /** The exit code of the worker. */
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`a worker ended with the exit code ${String(exitCode)} before it was ready`);
    this.exitCode = exitCode;
  }
}

const REPORT_MS = 1_000;
/** A worker that lived for less than this is restarted after a pause, which doubles each time. */
const SHORT_LIFE_MS = 10_000;
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

/**
 * Starts processes that share the listeners, one after another, and resolves when all accept connections. A worker that
 * ends is replaced.
 *
 * @throws (rejects) WorkerFailed if the first of them cannot start.
 */
export async function superviseWorkers({ workers, log }: SuperviseOptions): Promise<SupervisedWorkers> {
  const supervisor = new Supervisor(log);
  for (let i = 0; i < workers; i++) await supervisor.start();
  return supervisor;
}

class Supervisor implements SupervisedWorkers {
  addresses: SupervisedWorkers['addresses'] = {};
  readonly #log: (line: string) => void;
  /** What each worker had counted when it was last asked. */
  readonly #workers = new Map<Worker, StatsReport>();
  #retired: Promise<StatsReport> = Promise.resolve([]);
  #pauseMs = MIN_PAUSE_MS;
  #closing: Promise<void> | undefined;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /** @throws (rejects) WorkerFailed if it ends before it is ready. */
  async start(): Promise<void> {
    const startedAtMs = performance.now();
    const worker = cluster.fork();
    this.#workers.set(worker, []);
    worker.on('error', () => undefined); // a message to a process that has ended
    closeUntaken(worker);
    let isReady = false;
    await new Promise<void>((resolve, reject) => {
      worker.on('message', (message: FromWorker) => {
        if (message.sluice === 'report') {
          this.#workers.set(worker, message.report);
          worker.emit('report');
        }
        if (message.sluice === 'gather') void this.#tellAll(worker);
        if (message.sluice !== 'ready') return;
        isReady = true;
        this.addresses = message.addresses;
        resolve();
      });
      worker.once('exit', (code: number | null, signal: string | null) => {
        this.#retire(worker);
        if (!isReady) reject(new WorkerFailed(code ?? 1));
        else if (this.#closing === undefined) {
          const how = signal ?? `the exit code ${String(code)}`;
          this.#log(`worker ${String(worker.process.pid)} ended (${how}): another one replaces it`);
          this.#replace(performance.now() - startedAtMs);
        }
      });
    });
    if (this.#closing !== undefined) tell(worker, { sluice: 'close', delayMs: 0 });
  }

  reload(): void {
    for (const worker of this.#workers.keys()) tell(worker, { sluice: 'reload' });
  }

  close({ delayMs = 0 }: CloseOptions = {}): Promise<void> {
    this.#closing ??= Promise.all(
      [...this.#workers.keys()].map(async (worker) => {
        tell(worker, { sluice: 'close', delayMs });
        if (!worker.isDead()) await once(worker, 'exit');
      }),
    ).then(() => undefined);
    return this.#closing;
  }

  kill(): void {
    for (const worker of this.#workers.keys()) worker.process.kill('SIGKILL');
  }

  #replace(livedMs: number): void {
    const isShort = livedMs < SHORT_LIFE_MS;
    const pauseMs = isShort ? this.#pauseMs : 0;
    this.#pauseMs = isShort ? Math.min(this.#pauseMs * 2, MAX_PAUSE_MS) : MIN_PAUSE_MS;
    setTimeout(() => {
      if (this.#closing !== undefined) return;
      this.start().catch((error: unknown) => {
        if (this.#closing !== undefined) return;
        this.#log(`${(error as Error).message}: restarting it`);
        this.#replace(0);
      });
    }, pauseMs);
  }

  /**
   * Sends a worker the counts of all workers. For one that does not answer within a second, its last known counts are
   * used.
   */
  async #tellAll(asking: Worker): Promise<void> {
    const signal = AbortSignal.timeout(REPORT_MS);
    await Promise.all(
      [...this.#workers.keys()].map(async (worker) => {
        const answered = once(worker, 'report', { signal });
        tell(worker, { sluice: 'report' });
        await answered.catch(() => undefined);
      }),
    );
    tell(asking, { sluice: 'gathered', reports: [await this.#retired, ...this.#workers.values()] });
  }

  /** Counters do not fall when a worker ends: its counts are kept, except for gauges. */
  #retire(worker: Worker): void {
    const last = this.#workers.get(worker)?.filter(({ type }) => (type as unknown) !== 'gauge');
    this.#workers.delete(worker);
    if (last === undefined || last.length === 0) return;
    this.#retired = this.#retired.then((before) => sumUp([before, last]).getMetricsAsJSON());
  }
}

/**
 * Closes the connections that were on their way to a worker when it ended. `node:cluster` forgets them: the accepted
 * socket stays open in this process, and its client would wait forever. Watches what cluster sends through
 * `process.send`.
 */
function closeUntaken({ process }: Worker): void {
  const untaken = new Map<unknown, { close?: () => void }>();
  const send = process.send.bind(process) as (...sent: readonly unknown[]) => boolean;
  process.send = (message: unknown, handle?: unknown, ...more: readonly unknown[]) => {
    if (typeof handle === 'object' && handle !== null) untaken.set((message as { seq?: number }).seq, handle);
    return send(message, handle, ...more);
  };
  process.on('internalMessage', ({ ack }: { readonly ack?: number }) => untaken.delete(ack));
  process.once('exit', () => {
    for (const handle of untaken.values()) handle.close?.();
  });
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}
