import { setTimeout as sleep } from 'node:timers/promises';
import { findConnection, type LimiterCore, type RedisConnection } from '@sluice/core/spi';
import type { PageRecord } from './record.ts';
import { readShared, shareRecord, type SharedRecord } from './redis.ts';

const WRITE_EVERY_S = 5;
const READ_EVERY_MS = 2_000;
/** How long a reader waits for Redis before it gets the last known data. */
const PATIENCE_MS = 500;
/** How many calls may wait for an answer, so that no more are sent to a hung Redis. */
const MAX_PENDING = 5;

/**
 * Shares a page's counts with those of other processes, in the Redis of the first limiter that has one: one write every
 * five seconds, and reads only while an operator is looking. If Redis does not answer, the page only says so.
 */
export class Sharing {
  /** The records read last, including this page's. */
  records: readonly SharedRecord[] = [];
  /** When Redis stopped accepting or returning counts; null: it does both. */
  awaySinceMs: number | null = null;
  readonly #limiters: () => readonly LimiterCore[];
  readonly #makeRecord: () => PageRecord;
  readonly #pending = new Set<Promise<unknown>>();
  #seconds = 0;
  #readAtMs = -Infinity;

  constructor(limiters: () => readonly LimiterCore[], makeRecord: () => PageRecord) {
    this.#limiters = limiters;
    this.#makeRecord = makeRecord;
  }

  /** Call this once a second. */
  tick(): void {
    if (this.#seconds++ % WRITE_EVERY_S !== 0) return;
    void this.#try(async (connection) => {
      await shareRecord(connection, this.#makeRecord());
      this.awaySinceMs = null;
      await connection.timeline.follow();
    });
  }

  /** Reads what pages have written, at most once every two seconds, and waits at most half a second. Never rejects. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#readAtMs < READ_EVERY_MS) return;
    this.#readAtMs = performance.now();
    const read = this.#try(async (connection) => {
      this.records = await readShared(connection);
    });
    await inTime(read);
  }

  /** Waits for a write in progress. Never rejects. */
  async close(): Promise<void> {
    await inTime(Promise.all(this.#pending));
  }

  async #try(act: (connection: RedisConnection) => Promise<void>): Promise<void> {
    const [connection] = this.#limiters().flatMap(({ store }) => findConnection(store) ?? []);
    if (connection === undefined) return;
    const isFree = this.#pending.size < MAX_PENDING;
    const acting = (isFree ? act(connection) : Promise.reject(new Error('no answer'))).catch(() => {
      this.awaySinceMs ??= Date.now(); // the page shows it
    });
    this.#pending.add(acting);
    await acting.finally(() => this.#pending.delete(acting));
  }
}

/** Waits at most half a second. */
export async function inTime(work: Promise<unknown>): Promise<void> {
  await Promise.race([work, sleep(PATIENCE_MS, undefined, { ref: false })]);
}
