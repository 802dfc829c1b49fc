import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '@sluice/core';
import { findConnection, readSubject, SharedLines, type RedisConnection } from '@sluice/core/spi';

/** How often each process reports its number of clients, and reads the numbers of others. */
const EVERY_MS = 1_000;
/** How long the clients of a dead process still count. */
const LIFE_MS = 3_000;
/** How long Redis may take: no request waits for this. */
const PATIENCE_MS = 500;
const MAX_PROCESSES = 1_000;

/** The clients of one namespace. */
interface Namespace {
  /** Those of this process. */
  own: number;
  /** Those of other processes, as far as known. */
  others: number;
  /** The number that this process last reported to others. */
  told: number;
  isTelling: boolean;
}

/**
 * Counts connected clients by namespace, across all processes on one Redis. Changes elsewhere are seen within a second.
 * While Redis does not answer, only this process's clients count, because it then decides alone.
 */
export class ConnectedClients {
  readonly #redis: RedisConnection | undefined;
  readonly #isShared: (namespace: string) => boolean;
  readonly #process = randomBytes(8).toString('hex');
  readonly #namespaces = new Map<string, Namespace>();
  readonly #timer: NodeJS.Timeout;

  /** @param isShared - Whether processes share the count of a namespace: those that rules name. */
  constructor(store: Store, isShared: (namespace: string) => boolean) {
    this.#redis = findConnection(store);
    this.#isShared = isShared;
    this.#timer = setInterval(() => void this.#tellAll(), EVERY_MS).unref();
  }

  /** Counts a client that connects or, with -1, leaves. */
  add(name: string, change: 1 | -1): void {
    const namespace = this.#namespaces.get(name) ?? { own: 0, others: 0, told: 0, isTelling: false };
    this.#namespaces.set(name, namespace);
    namespace.own += change;
    void this.#tell(name, namespace);
  }

  count(name: string): number {
    const { own = 0, others = 0 } = this.#namespaces.get(name) ?? {};
    return own + others;
  }

  /** Stops reporting to others, once clients that left have been reported. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#tellAll();
  }

  async #tellAll(): Promise<void> {
    await Promise.all([...this.#namespaces].map(([name, namespace]) => this.#tell(name, namespace)));
  }

  async #tell(name: string, namespace: Namespace): Promise<void> {
    if (namespace.isTelling) return;
    namespace.isTelling = true;
    do {
      namespace.told = namespace.own;
      namespace.others = this.#isShared(name) ? await this.#exchange(name, namespace.told).catch(() => 0) : 0;
    } while (namespace.told !== namespace.own);
    namespace.isTelling = false;
    if (namespace.own === 0) this.#namespaces.delete(name);
  }

  async #exchange(name: string, own: number): Promise<number> {
    if (this.#redis === undefined) return 0;
    const key = `{${readSubject(name)}}:-sentinel-clients`;
    const list = new SharedLines(this.#redis, key, LIFE_MS, MAX_PROCESSES);
    const exchanged = Promise.all([list.read(), list.put([{ name: this.#process, text: String(own) }])]);
    const others = exchanged.then(([{ lines }]) => {
      const counts = lines.filter((line) => line.name !== this.#process && /^\d{1,9}$/.test(line.text));
      return counts.reduce((sum, { text }) => sum + Number(text), 0);
    });
    return Promise.race([others, sleep(PATIENCE_MS, 0, { ref: false })]);
  }
}
