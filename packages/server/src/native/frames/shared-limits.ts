import type { Limit, Store } from '@sluice/old-core';
import { FrameError, MOST_LIMITS, limitFromJson, readText, uncountable } from '@sluice/remote/wire';

/** A limit that connections have named, and how many of them do. */
interface SharedLimit {
  readonly limit: Limit | Error;
  users: number;
}

const ofStores = new WeakMap<Store, Map<string, SharedLimit>>();

/** The most bytes of the limits of one connection. */
const MOST_BYTES = 4 * 1_048_576;

/**
 * The limits that one connection has named, by their numbers. Connections that name equal ones share them, so that
 * their requests go out together.
 */
export class ConnectionLimits {
  readonly #shared: Map<string, SharedLimit>;
  readonly #texts: string[] = [];
  #bytes = 0;

  constructor(store: Store) {
    this.#shared = ofStores.get(store) ?? new Map<string, SharedLimit>();
    ofStores.set(store, this.#shared);
  }

  /**
   * Adds a limit. One that cannot be counted fails the calls that name it.
   *
   * @throws FrameError for a number out of order, and for too many limits.
   */
  add(number: number, text: Buffer): void {
    if (number !== this.#texts.length || number >= MOST_LIMITS)
      throw new FrameError('the numbers of limits are counted from 0');
    this.#bytes += text.length;
    if (this.#bytes > MOST_BYTES)
      throw new FrameError(`the limits of a connection take at most ${String(MOST_BYTES)} bytes`);
    const key = text.toString();
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      shared = { limit: limitOf(text), users: 0 };
      this.#shared.set(key, shared);
    }
    shared.users++;
    this.#texts.push(key);
  }

  /** @throws FrameError for a number that the connection has not named. */
  readonly at = (number: number): Limit | Error => {
    const text = this.#texts[number];
    const shared = text === undefined ? undefined : this.#shared.get(text);
    if (shared === undefined) throw new FrameError(`no limit has the number ${String(number)}`);
    return shared.limit;
  };

  /** Drops all of them. */
  clear(): void {
    for (const text of this.#texts) {
      const shared = this.#shared.get(text);
      if (shared !== undefined && --shared.users === 0) this.#shared.delete(text);
    }
    this.#texts.length = 0;
    this.#bytes = 0;
  }
}

function limitOf(text: Buffer): Limit | Error {
  const given = readText(text);
  try {
    return limitFromJson(given);
  } catch (error) {
    return uncountable(error);
  }
}
