/** Something of a client that is not whole yet, or that nothing has come over. */
export interface Waiter {
  /** Whose it is, such as an address. */
  readonly client: string;
  /** Bytes that it holds. */
  readonly heldBytes: number;
  /** Ends it. Called once it is no longer in the list. */
  drop(): void;
}

export interface WaitingBounds {
  /** How many of one client, and how many of all. */
  readonly mostOfClient: number;
  readonly most: number;
  /** Bytes of one client, and of all. Default: without end. */
  readonly mostBytesOfClient?: number;
  readonly mostBytes?: number;
}

interface OfClient<T> {
  /** The oldest first. */
  readonly waiters: Set<T>;
  bytes: number;
}

/**
 * What waits for clients, such as bodies of which a part is missing: bounds its number and its bytes, of each client and
 * of all. Where a client has too many, its oldest one is dropped; where all together have too many, the oldest one of
 * the client that has the most. What is honest is whole within milliseconds, and so is rarely the oldest.
 */
export class Waiting<T extends Waiter> {
  readonly #bounds: Required<WaitingBounds>;
  readonly #clients = new Map<string, OfClient<T>>();
  #size = 0;
  #bytes = 0;

  constructor(bounds: WaitingBounds) {
    this.#bounds = { mostBytesOfClient: Infinity, mostBytes: Infinity, ...bounds };
  }

  get size(): number {
    return this.#size;
  }

  /** Adds one that holds nothing yet. */
  add(waiter: T): void {
    let own = this.#clients.get(waiter.client);
    if (own === undefined) this.#clients.set(waiter.client, (own = { waiters: new Set(), bytes: 0 }));
    own.waiters.add(waiter);
    this.#size++;
    if (own.waiters.size > this.#bounds.mostOfClient) this.#dropOldest(own);
    if (this.#size > this.#bounds.most) this.#dropOldest(this.#largest((one) => one.waiters.size));
  }

  /** Called when one holds more bytes, or less. */
  held(waiter: T, change: number): void {
    const own = this.#clients.get(waiter.client);
    if (own?.waiters.has(waiter) !== true) return;
    own.bytes += change;
    this.#bytes += change;
    while (own.bytes > this.#bounds.mostBytesOfClient) this.#dropOldest(own);
    while (this.#bytes > this.#bounds.mostBytes) this.#dropOldest(this.#largest((one) => one.bytes));
  }

  /** Forgets one, which may be forgotten already. */
  delete(waiter: T): void {
    const own = this.#clients.get(waiter.client);
    if (own?.waiters.delete(waiter) !== true) return;
    own.bytes -= waiter.heldBytes;
    this.#bytes -= waiter.heldBytes;
    this.#size--;
    if (own.waiters.size === 0) this.#clients.delete(waiter.client);
  }

  #dropOldest(of: OfClient<T>): void {
    const [oldest] = of.waiters;
    if (oldest === undefined) return;
    this.delete(oldest);
    oldest.drop();
  }

  #largest(sizeOf: (one: OfClient<T>) => number): OfClient<T> {
    let largest: OfClient<T> | undefined;
    for (const one of this.#clients.values()) {
      if (largest === undefined || sizeOf(one) > sizeOf(largest)) largest = one;
    }
    return largest as OfClient<T>;
  }
}
