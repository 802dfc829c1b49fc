import {
  type BatchAnswer,
  type BatchStore,
  type CoalescedRequests,
  type Fast,
  type FastHost,
  type FastStore,
  flushBatches,
  NetworkFast,
  performInOrder,
  closeGuardOf,
  untilReady,
  withinBounds,
} from '@sluice/old-core/spi';
import {
  type BreakerOptions,
  type Store,
  type StoreAnswers,
  type StoreCall,
  type StoreRequest,
  StoreError,
} from '@sluice/old-core';
import type { Link } from './link.ts';
import { Links } from './links.ts';
import { parseRemoteOptions, type RemoteSettings, type RemoteStoreOptions } from './options.ts';
import { parseServerUrls } from './server-url.ts';

/** A store behind a service, `sluice serve`. */
export interface RemoteStore extends Store {
  readonly source: 'remote';
  perform(requests: readonly StoreRequest[], call?: StoreCall): Promise<StoreAnswers>;
  /**
   * Resolves when the service can decide, so that the first requests do not wait for a connection; tries again until
   * then. A limiter does not need this call.
   *
   * @param timeoutMs - Rejects after so many milliseconds, or when the store is closed, with the last error. Default
   * 5000.
   * @throws (rejects) PolicyError `SLUICE_OPTION_INVALID` for a bad timeout; StoreError.
   */
  ready(timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Limits that a service counts, for processes that may not reach its Redis: `sluice serve --native 8082`. Every list of
 * requests is one frame over one connection, and one round trip; the service decides it atomically in its own store.
 * Batches and the denial cache work as with a `redisStore`. Limits are made here, and sent to the service once
 * a connection.
 *
 * Connects on first use, fails at once while there is no connection, and sends nothing twice: a call in flight when the
 * connection ends may have counted. Connects again within half a second; with several servers to the next one at once.
 *
 * @param url - `sluice://host:8082`, `sluices://host:8082` over TLS, `sluice+unix:/run/sluice.sock`; or several servers
 * of one Redis, as `sluice://one:8082,other:8082` or a list. A process starts with any of them.
 * @throws PolicyError for any other URL, and for bad or unknown options. Nothing is sent before the first decision.
 */
export function remoteStore(url: string | readonly string[], options: RemoteStoreOptions = {}): RemoteStore {
  const settings = parseRemoteOptions(options);
  return new FramedStore(new Links(parseServerUrls(url), settings), settings);
}

class FramedStore implements RemoteStore, BatchStore, FastStore {
  readonly source = 'remote';
  readonly showsDenied = true;
  readonly breaker: BreakerOptions | false;
  readonly #links: Links;
  #closings = 0;

  constructor(links: Links, { breaker }: RemoteSettings) {
    this.#links = links;
    this.breaker = breaker;
  }

  /** Known once the service has welcomed a connection. */
  get hasNodes(): boolean {
    return this.#links.current?.welcome.hasNodes ?? false;
  }

  get decidesBatches(): boolean {
    return this.#links.current?.welcome.hasBatches ?? false;
  }

  fast(host: FastHost): Fast {
    return new NetworkFast(this, host);
  }

  perform(requests: readonly StoreRequest[], call?: StoreCall): Promise<StoreAnswers> {
    return performInOrder(this, requests, () => this.#perform(requests, call));
  }

  #perform(requests: readonly StoreRequest[], call: StoreCall | undefined): Promise<StoreAnswers> {
    const [first = [], ...more] = withinBounds(requests);
    if (requests.length === 0) return Promise.resolve([]);
    if (more.length === 0) return this.#onLink(call, (link) => link.perform(first, leftMsOf(call)));
    return this.#onLink(call, (link) => performEach(link, [first, ...more], call));
  }

  performBatch(keys: readonly CoalescedRequests[], call?: StoreCall): Promise<BatchAnswer> {
    return this.#onLink(call, (link) => link.performBatch(keys, leftMsOf(call)));
  }

  async ready(timeoutMs = 5000): Promise<void> {
    const closings = this.#closings;
    await untilReady(this, timeoutMs, () => closings !== this.#closings);
  }

  close(): Promise<void> {
    this.#closings++;
    flushBatches(this);
    closeGuardOf(this);
    this.#links.close();
    return Promise.resolve();
  }

  /**
   * Sends at once where there is a connection.
   *
   * @throws (rejects) StoreError when there is none, or the call was abandoned while it was made.
   */
  #onLink<Answer>(call: StoreCall | undefined, send: (link: Link) => Promise<Answer>): Promise<Answer> {
    const link = this.#links.current;
    if (link === undefined) {
      return this.#links.open().then((opened) => {
        if (call?.abandoned !== true) return send(opened);
        throw new StoreError('SLUICE_STORE_TIMEOUT', 'the call was abandoned before it was sent');
      });
    }
    try {
      return send(link);
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
      return Promise.reject(error);
    }
  }
}

/** Sends lists of requests as a frame each. The decisions of a frame hold, even if other frames fail. */
async function performEach(
  link: Link,
  lists: readonly (readonly StoreRequest[])[],
  call: StoreCall | undefined,
): Promise<StoreAnswers> {
  const answers = await Promise.all(
    lists.map(async (requests) => {
      try {
        return await link.perform(requests, leftMsOf(call));
      } catch (error) {
        return requests.map(() => error as Error);
      }
    }),
  );
  return answers.flat();
}

/** How long the callers still wait, in whole milliseconds, at least 1. */
function leftMsOf(call: StoreCall | undefined): number | undefined {
  return call?.endMs === undefined ? undefined : Math.max(Math.ceil(call.endMs - performance.now()), 1);
}
