import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mergedReport, retiredReport, type StatsReport } from '../stats/stats-report.ts';
import type { CloseOptions } from '../close-options.ts';
import { isFromWorker, SECRET_VARIABLE, type FromWorker, type ToWorker } from './messages.ts';

export interface SuperviseOptions {
  /** How many processes; each runs the program of this one again, as a worker of `node:cluster`. */
  readonly workers: number;
  /** Gets what operators should know. */
  readonly log: (line: string) => void;
}

/** Processes that share the listeners of one service. */
export interface SupervisedWorkers {
  /** Where they accept connections. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Each reads its configuration. */
  reload(): void;
  /** Each answers what it has begun, and ends, as `close` of a server. Later calls return the same promise. */
  close(options?: CloseOptions): Promise<void>;
  /** Ends all at once. */
  kill(): void;
}

/** A worker ended before it accepted connections. It has written why. */
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
/** A worker that lived for less is started again after a pause, which doubles each time. */
const SHORT_LIFE_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Starts processes that share the listeners, one after the other, and resolves when all accept connections. A worker
 * that ends is replaced.
 *
 * @throws (rejects) WorkerFailed when the first of them cannot start.
 */
export async function superviseWorkers({ workers, log }: SuperviseOptions): Promise<SupervisedWorkers> {
  const supervisor = new Supervisor(log);
  for (let i = 0; i < workers; i++) await supervisor.start();
  return supervisor;
}

class Supervisor implements SupervisedWorkers {
  addresses: Readonly<Record<string, string>> = {};
  readonly #log: (line: string) => void;
  readonly #workers = new Set<Worker>();
  readonly #secret = randomBytes(32).toString('base64url');
  /** The counts of each worker at the last request. */
  readonly #reports = new Map<number, StatsReport>();
  readonly #asked = new Map<number, (worker: number, report: StatsReport) => void>();
  #retired: Promise<StatsReport> = Promise.resolve([]);
  #nextId = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #closing: Promise<void> | undefined;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /** @throws (rejects) WorkerFailed when it ends before it is ready. */
  async start(): Promise<void> {
    const startedAtMs = performance.now();
    const worker = cluster.fork({ [SECRET_VARIABLE]: this.#secret });
    this.#workers.add(worker);
    worker.on('error', () => undefined); // a message to a process that has ended
    let isReady = false;
    await new Promise<void>((resolve, reject) => {
      worker.on('message', (message: unknown) => {
        if (!isFromWorker(message)) return;
        if (message.sluice === 'ready') {
          isReady = true;
          this.addresses = message.addresses;
          resolve();
        } else this.#received(worker, message);
      });
      worker.once('exit', (code: number | null, signal: string | null) => {
        this.#workers.delete(worker);
        this.#retire(worker.id);
        if (!isReady) reject(new WorkerFailed(code ?? 1));
        else if (this.#closing === undefined) {
          const how = signal ?? `the exit code ${String(code)}`;
          this.#log(`worker ${String(worker.process.pid)} ended (${how}): another one takes its place`);
          this.#replace(performance.now() - startedAtMs);
        }
      });
    });
    if (this.#closing !== undefined) tell(worker, { sluice: 'close', delayMs: 0 });
  }

  reload(): void {
    for (const worker of this.#workers) tell(worker, { sluice: 'reload' });
  }

  close({ delayMs = 0 }: CloseOptions = {}): Promise<void> {
    this.#closing ??= Promise.all(
      [...this.#workers].map(async (worker) => {
        tell(worker, { sluice: 'close', delayMs });
        if (!worker.isDead()) await once(worker, 'exit');
      }),
    ).then(() => undefined);
    return this.#closing;
  }

  kill(): void {
    for (const worker of this.#workers) worker.process.kill('SIGKILL');
  }

  #received(worker: Worker, message: Exclude<FromWorker, { sluice: 'ready' }>): void {
    if (message.sluice === 'report') this.#asked.get(message.id)?.(worker.id, message.report);
    else {
      void this.#gather().then((reports) => {
        tell(worker, { sluice: 'gathered', id: message.id, reports });
      });
    }
  }

  #replace(livedMs: number): void {
    const pauseMs = livedMs >= SHORT_LIFE_MS ? 0 : this.#pauseMs;
    this.#pauseMs = livedMs >= SHORT_LIFE_MS ? FIRST_PAUSE_MS : Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    setTimeout(() => {
      if (this.#closing !== undefined) return;
      this.start().catch((error: unknown) => {
        if (this.#closing !== undefined) return;
        this.#log(`${(error as Error).message}: it is started again`);
        this.#replace(0);
      });
    }, pauseMs);
  }

  /** Asks every worker what it has counted. */
  async #gather(): Promise<readonly StatsReport[]> {
    const id = this.#nextId++;
    const missing = new Set([...this.#workers].map((worker) => worker.id));
    const reports = [await this.#retired];
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, REPORT_MS);
      this.#asked.set(id, (worker, report) => {
        if (!missing.delete(worker)) return;
        this.#reports.set(worker, report);
        reports.push(report);
        if (missing.size > 0) return;
        clearTimeout(timer);
        resolve();
      });
      for (const worker of this.#workers) tell(worker, { sluice: 'report', id });
    });
    this.#asked.delete(id);
    return reports;
  }

  /** Counters do not fall when a worker ends: what it had counted when it was asked last stays. */
  #retire(worker: number): void {
    const last = this.#reports.get(worker);
    this.#reports.delete(worker);
    if (last === undefined) return;
    this.#retired = this.#retired.then((before) => mergedReport([before, retiredReport(last)]));
  }
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}
