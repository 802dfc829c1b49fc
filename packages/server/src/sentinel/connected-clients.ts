import { randomInt } from 'node:crypto';
import { concurrency } from '@sluice/old-core';
import { encodeSubject, limitOfPolicy, type LimiterCore, type LimitRef } from '@sluice/old-core/spi';

/** How often each process says how many clients it has, and hears of those of others. */
const EVERY_MS = 1_000;
/** Clients of a process that has died count this long. */
const LIFE_MS = 3_000;
/** How long the store may take: no request waits for this. */
const PATIENCE_MS = 500;
const MOST_CLIENTS = 1_000_000;
/** Two processes of one number would count as one. */
const HOLDERS = 2 ** 47;

/** The clients of one namespace. */
interface Namespace {
  /** Those of this process. */
  own: number;
  /** Those of other processes, as far as is known. */
  others: number;
  /** As many as the store has of this process. */
  held: number;
  isPublishing: boolean;
  /** Whether the store is told in this turn. */
  isScheduled: boolean;
}

/**
 * Counts connected clients by namespace, over all processes on one store: each holds as many slots of a concurrency
 * policy as it has clients, and the slots of a process that dies expire. Others are seen within a second. While the
 * store does not answer, the clients of this process count alone, because it decides alone then.
 */
export class ConnectedClients {
  readonly #core: LimiterCore;
  readonly #isShared: (namespace: string) => boolean;
  readonly #limit: LimitRef;
  readonly #holder = String(randomInt(HOLDERS));
  readonly #namespaces = new Map<string, Namespace>();
  readonly #timer: NodeJS.Timeout;

  /** @param isShared - Whether processes tell each other of a namespace: of those that rules name. */
  constructor(core: LimiterCore, isShared: (namespace: string) => boolean) {
    this.#core = core;
    this.#isShared = isShared;
    this.#limit = limitOfPolicy(core, concurrency({ name: 'sentinel-clients', limit: MOST_CLIENTS, ttl: LIFE_MS }));
    this.#timer = setInterval(() => {
      for (const [name, namespace] of this.#namespaces) void this.#publish(name, namespace);
    }, EVERY_MS).unref();
  }

  /** A client has come. Returns how many there are now, with it. */
  add(name: string): number {
    let namespace = this.#namespaces.get(name);
    if (namespace === undefined) {
      namespace = { own: 0, others: 0, held: 0, isPublishing: false, isScheduled: false };
      this.#namespaces.set(name, namespace);
    }
    this.#change(name, namespace, 1);
    return namespace.own + namespace.others;
  }

  /** A client that was added has left. */
  remove(name: string): void {
    const namespace = this.#namespaces.get(name);
    if (namespace !== undefined) this.#change(name, namespace, -1);
  }

  count(name: string): number {
    const namespace = this.#namespaces.get(name);
    return namespace === undefined ? 0 : namespace.own + namespace.others;
  }

  /** Stops telling others, after the clients that have left. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#namespaces].map(([name, namespace]) => this.#publish(name, namespace)));
  }

  #change(name: string, namespace: Namespace, by: 1 | -1): void {
    namespace.own += by;
    if (namespace.isScheduled) return;
    namespace.isScheduled = true;
    setImmediate(() => {
      namespace.isScheduled = false;
      void this.#publish(name, namespace);
    });
  }

  async #publish(name: string, namespace: Namespace): Promise<void> {
    if (namespace.isPublishing) return;
    namespace.isPublishing = true;
    const { own } = namespace;
    try {
      namespace.others = this.#isShared(name) ? await this.#exchange(name, namespace) : 0;
    } catch {
      namespace.others = 0;
    }
    namespace.isPublishing = false;
    if (namespace.own !== own) void this.#publish(name, namespace);
    else if (own === 0) this.#namespaces.delete(name);
  }

  /** Tells the store of the clients of this process. Returns those of others. */
  async #exchange(name: string, namespace: Namespace): Promise<number> {
    const { own, held } = namespace;
    const part = { limit: this.#limit, subject: encodeSubject(name), holder: this.#holder };
    if (held > 0 && held !== own) {
      namespace.held = 0;
      await this.#core.settle([{ op: 'release', part: { ...part, cost: held } }]);
    }
    if (own === 0) return 0;
    namespace.held = own;
    const decision = await this.#core.decide(
      'consume',
      [{ ...part, cost: own }],
      'throw',
      performance.now() + PATIENCE_MS,
    );
    return Math.max(decision.used - own, 0);
  }
}
