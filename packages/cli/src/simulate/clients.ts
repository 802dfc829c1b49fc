import { readSubject } from '@sluice/core/spi';

/** How many forgotten clients stay in the lists of those denied most. */
const MAX_GONE = 1000;

/** A key of `--key`: what the report calls a client. */
export class Client {
  readonly key: string;
  requests = 0;
  /** Denied requests, by candidate. Undefined if there are none. */
  denied: number[] | undefined = undefined;
  /**
   * A sample of the denied requests: the first and the last, the path and user agent of the last, and some of all user
   * agents.
   */
  sample: Sample | undefined = undefined;
  /** The windows that `Peaks` counts in: each with its end, requests and peak. */
  readonly windows: number[] = [];

  constructor(key: string) {
    this.key = key;
  }
}

export interface Sample {
  readonly firstAtMs: number;
  lastAtMs: number;
  path: string;
  readonly agents: Set<string>;
}

/** The clients of a log. If there are too many, those seen longest ago are forgotten. */
export class Clients {
  forgotten = 0;
  /** Forgotten clients that were denied. */
  gone: Client[] = [];
  readonly #maxKeys: number;
  readonly #forget: (client: Client) => void;
  #recent = new Map<string, Client>();
  #earlier: ReadonlyMap<string, Client> = new Map();

  /** @param forget - Called with each client that is forgotten. */
  constructor(maxKeys: number, forget: (client: Client) => void) {
    this.#maxKeys = maxKeys;
    this.#forget = forget;
  }

  /** A recently seen client, by its exact key. */
  find(key: string): Client | undefined {
    return this.#recent.get(key);
  }

  get(key: string): Client {
    const subject = readSubject(key); // a long one is a hash, as in stores
    let client = this.#recent.get(subject);
    if (client !== undefined) return client;
    client = this.#earlier.get(subject) ?? new Client(copyText(subject));
    if (this.#recent.size >= Math.ceil(this.#maxKeys / 2)) this.#turn();
    this.#recent.set(client.key, client);
    return client;
  }

  *all(): IterableIterator<Client> {
    yield* this.#recent.values();
    for (const client of this.#earlier.values()) if (!this.#recent.has(client.key)) yield client;
  }

  #turn(): void {
    for (const client of this.#earlier.values()) {
      if (this.#recent.has(client.key)) continue;
      this.forgotten++;
      this.#forget(client);
      if (client.denied !== undefined) this.gone.push(client);
    }
    if (this.gone.length > 2 * MAX_GONE) {
      const sum = ({ denied = [] }: Client): number => denied.reduce((all, one) => all + one, 0);
      this.gone = this.gone.toSorted((one, other) => sum(other) - sum(one)).slice(0, MAX_GONE);
    }
    this.#earlier = this.#recent;
    this.#recent = new Map();
  }
}

/** Copies a text, so that the line it was cut from does not stay in memory. */
export function copyText(text: string): string {
  return Buffer.from(text).toString();
}
