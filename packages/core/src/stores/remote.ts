import { PolicyError, StoreError, getMessage, shown, type SluiceErrorCode, type StoreFailureKind } from '../errors.ts';
import { NOT_SENT, startTimer, stopTimer } from '../platform.ts';
import type { Policy } from '../policies/index.ts';
import { optional, readOptions, valueThat, type Optional, type Options } from '../values/shape.ts';
import { DenialCache, type Send, type Waiting } from './redis/denial-cache.ts';
import type { Answer, Ask, Op, Store } from './store.ts';

const SHAPE = {
  /**
   * The token of the service: its `--token`, sent as `Authorization: Bearer TOKEN`. Required unless the service listens
   * on the loopback interface.
   */
  token: optional(
    valueThat<string>((given) => typeof given === 'string' && /^\S+$/.test(given), 'a string without spaces'),
  ) as Optional<string>,
};

export interface RemoteStoreOptions extends Options<typeof SHAPE> {}

/** Limits that the service enforces. */
export interface RemoteStore extends Store {
  readonly source: 'remote';
  close(): Promise<void>;
}

/** At most 64 kB, whatever the characters. */
const MAX_CHARACTERS = 20_000;
/** How long a hung service keeps a connection. Decisions have ended long before. */
const MAX_REQUEST_MS = 10_000;
/** How many figures the answer to an ask has. */
const FIGURES = 8;
const KINDS: Readonly<Record<number, StoreFailureKind>> = { 401: 'denied', 403: 'denied', 503: 'connection' };

/** What the service answers to one call: its figures, or why it failed. */
type Told = Partial<Answer> & { readonly error?: { readonly code: string; readonly detail: string } };

/**
 * Limits behind the service, `sluice serve`: all requests of one turn of the event loop are one HTTP request,
 * `POST /v1/decide`, on a persistent connection. The service decides as its own Redis would; the policies are those of this
 * process. All limiters that use the token count together.
 *
 * @param url - Of the service's HTTP listener, such as `http://limits.internal:8080`.
 * @throws PolicyError for another URL, and for bad or unknown options. Nothing is sent before the first decision.
 *
 * @example
 * ```ts
 * const store = remoteStore('http://127.0.0.1:8080');
 * const limiter = createLimiter({ limit: 100, window: '1m', store });
 * ```
 */
export function remoteStore(url: string, options: RemoteStoreOptions = {}): RemoteStore {
  const { token } = readOptions(options, SHAPE, 'remoteStore');
  return new ServiceStore(readUrl(url), token);
}

function readUrl(given: unknown): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '') {
    return `${url.href.replace(/\/$/, '')}/v1/decide`;
  }
  const expected = 'the URL of a service, such as "http://limits.internal:8080", with the token as option token';
  throw new PolicyError('url', `remoteStore takes ${expected}, got ${shown(given)}`, 'SLUICE_OPTION_INVALID');
}

class ServiceStore implements RemoteStore {
  readonly source = 'remote';
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #denials = new DenialCache();
  readonly #open = new Set<AbortController>();
  #waiting: Waiting[] = [];

  constructor(url: string, token: string | undefined) {
    this.#url = url;
    this.#headers = {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
  }

  perform(op: Op, asks: readonly Ask[]): Answer | Promise<Answer> {
    return this.#denials.perform(op, asks, this.#add);
  }

  readonly #add: Send = (waiting) => {
    if (this.#waiting.push(waiting) > 1) return;
    setImmediate(() => {
      this.#flush();
    });
  };

  /** Sends what has been asked for, in requests of bounded size. */
  #flush(): void {
    const calls = this.#waiting;
    this.#waiting = [];
    let from = 0;
    let characters = 0;
    for (const [i, { asks }] of calls.entries()) {
      const more = asks.reduce((sum, { key }) => sum + key.length + 300, 0);
      if (i > from && characters + more > MAX_CHARACTERS) {
        void this.#send(calls.slice(from, i));
        [from, characters] = [i, 0];
      }
      characters += more;
    }
    void this.#send(calls.slice(from));
  }

  async #send(calls: readonly Waiting[]): Promise<void> {
    const aborting = new AbortController();
    this.#open.add(aborting);
    const late = startTimer(MAX_REQUEST_MS, () => {
      aborting.abort();
    });
    try {
      const told = await this.#ask(calls, aborting.signal);
      for (const [i, call] of calls.entries()) answer(call, told[i]);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    } finally {
      stopTimer(late);
      this.#open.delete(aborting);
    }
  }

  async #ask(calls: readonly Waiting[], signal: AbortSignal): Promise<readonly (Told | undefined)[]> {
    const policies = new Map<Policy, number>();
    const requests = calls.map(({ op, asks }) => ({
      op,
      asks: asks.map(({ key, policy, cost, holder = 0, until = 0 }) => {
        const known = policies.get(policy) ?? policies.size;
        policies.set(policy, known);
        return [key, known, cost, holder, until];
      }),
    }));
    const body = JSON.stringify({ policies: [...policies.keys()], requests });
    const response = await fetch(this.#url, { method: 'POST', headers: this.#headers, body, signal }).catch(
      (error: unknown) => {
        const { cause } = error as { readonly cause?: { readonly code?: unknown } };
        throw failed(`cannot be reached: ${getMessage(cause ?? error)}`, 'connection', NOT_SENT.includes(cause?.code));
      },
    );
    const { answers, detail } = (await response.json().catch(() => ({}))) as {
      readonly answers?: readonly Told[];
      readonly detail?: string;
    };
    if (response.ok && answers?.length === calls.length) return answers;
    const { status } = response;
    const why = detail ?? `it answers ${String(status)}; does ${this.#url} lead to sluice serve?`;
    const isRejected = status >= 400 && status < 500; // it can be reached, and did nothing
    throw failed(why, KINDS[status] ?? 'reply', isRejected, isRejected ? 'SLUICE_STORE_REPLY_INVALID' : undefined);
  }

  close(): Promise<void> {
    for (const aborting of this.#open) aborting.abort();
    return Promise.resolve();
  }
}

function answer({ asks, resolve, reject }: Waiting, told: Told | undefined): void {
  const { atMs, figures, error } = told ?? {};
  if (error?.code === 'SLUICE_STORE_KEY_FOREIGN') reject(failed(error.detail, 'key', true, error.code));
  else if (error !== undefined) reject(failed(`${error.detail} (${error.code})`, 'other', false));
  else if (typeof atMs === 'number' && figures?.length === asks.length && figures.every(areNumbers)) {
    resolve({ atMs, figures: Array.from(figures as readonly (readonly number[])[], (all) => [...all]) });
  } else reject(failed('its answer is invalid', 'reply', false));
}

function areNumbers(figures: unknown): figures is readonly number[] {
  return Array.isArray(figures) && figures.length === FIGURES && figures.every(Number.isSafeInteger);
}

/** @param isUnsent - Whether the call certainly had no effect. */
function failed(
  why: string,
  kind: StoreFailureKind,
  isUnsent: boolean,
  code: SluiceErrorCode = 'SLUICE_STORE_FAILED',
): StoreError {
  return new StoreError(code, `the service of this store: ${why}`, { kind, sent: !isUnsent });
}
