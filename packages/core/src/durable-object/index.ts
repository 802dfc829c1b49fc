import { getMessage, PolicyError, shown, StoreError, type SluiceError, type SluiceErrorCode } from '../errors.ts';
import { parsePolicy } from '../policies/index.ts';
import { GIVE } from '../program/decide.ts';
import { OPS } from '../stores/perform.ts';
import { areOnNodes, hashTag, performOnNodes } from '../stores/redis/cluster.ts';
import { DenialCache, type Send } from '../stores/redis/denial-cache.ts';
import type { Answer, Ask, Op, Store } from '../stores/store.ts';
import { transactionStore, type Request as Asked, type Transaction } from '../stores/transaction.ts';
import { parsePrefix } from '../values/prefix.ts';
import { readOptions, type Field, type Options } from '../values/shape.ts';

const SHAPE = {
  /** The name of your application. The names of all objects begin with it. */
  prefix: ((given) => parsePrefix(given, 'durableObjectStore')) as Field<string>,
};

export interface DurableObjectStoreOptions extends Options<typeof SHAPE> {}

/** A Worker's binding to the objects of a class: the parts used here. */
export interface ObjectNamespace {
  idFromName(name: string): unknown;
  get(id: never): { fetch(url: string, init: { method: string; body: string }): Promise<Response> };
}

/** The storage of an object: the parts used here. */
export interface ObjectStorage {
  readonly sql: { exec(query: string, ...values: unknown[]): { toArray(): Record<string, unknown>[] } };
  transactionSync(run: () => void): void;
  setAlarm(atMs: number): Promise<void>;
}

/** A store in Cloudflare Durable Objects. */
export interface DurableObjectStore extends Store {
  readonly source: 'durable-object';
}

type Told = Answer | { readonly code: SluiceErrorCode; readonly message: string };

/**
 * Limits that hold across all isolates of a Worker. One object per subject decides, by the clock of the machine it runs
 * on. A decision over different keys involves several objects and works as on a Redis Cluster: never over the limit,
 * but not atomic.
 *
 * @param namespace - The binding of {@link SluiceObject}.
 * @throws PolicyError for anything else, and for bad, missing or unknown options.
 *
 * @example
 * ```ts
 * export { SluiceObject } from '@sluice/core/durable-object';
 *
 * const store = durableObjectStore(env.LIMITS, { prefix: 'shop' });
 * ```
 */
export function durableObjectStore(namespace: ObjectNamespace, options: DurableObjectStoreOptions): DurableObjectStore {
  const { prefix } = readOptions((options as unknown) ?? {}, SHAPE, 'durableObjectStore');
  if (typeof (namespace as Partial<ObjectNamespace> | undefined)?.idFromName !== 'function') {
    const expected = 'durableObjectStore takes the binding of a Durable Object, such as env.LIMITS';
    throw new PolicyError('namespace', `${expected}, got ${shown(namespace)}`, 'SLUICE_OPTION_INVALID');
  }
  const denials = new DenialCache();

  // Each request of a Worker makes its own call: a request that shared a call with a cancelled one would never be
  // answered.
  async function askOne(op: Op, asks: readonly Ask[]): Promise<Answer> {
    const told = await fetchAnswer(op, asks).catch((error: unknown) => {
      const why = `the Durable Object did not decide: ${getMessage(error)}`;
      throw new StoreError('SLUICE_STORE_FAILED', why, { cause: error, kind: 'connection' });
    });
    if ('code' in told) throw new StoreError(told.code, told.message);
    return told;
  }

  async function fetchAnswer(op: Op, asks: readonly Ask[]): Promise<Told> {
    const name = `${prefix}:${hashTag((asks[0] as Ask).key)}`;
    const object = namespace.get(namespace.idFromName(name) as never);
    const response = await object.fetch('https://sluice/', { method: 'POST', body: JSON.stringify({ op, asks }) });
    if (!response.ok) throw new Error(`${String(response.status)} ${await response.text()}`);
    return (await response.json()) as Told;
  }

  const send: Send = ({ op, asks, resolve, reject }) => {
    const isSplit = asks.length !== 1 && (OPS[op] >= GIVE || areOnNodes(asks));
    const answer = isSplit ? performOnNodes(op, asks, async (own, some) => perform(own, some)) : askOne(op, asks);
    answer.then(resolve, reject);
  };
  const perform = (op: Op, asks: readonly Ask[]): Answer | Promise<Answer> => denials.perform(op, asks, send);
  return { source: 'durable-object', perform };
}

/**
 * The class of the objects, which the Worker exports, with storage in SQLite (`new_sqlite_classes`). An object keeps
 * the keys of one subject and decides over them. Half a minute after its last limit has ended, it is empty.
 */
export class SluiceObject {
  readonly #storage: ObjectStorage;
  readonly #store: Store;
  /** When the alarm is set to go off; undefined if unknown. */
  #alarmMs: number | undefined;

  constructor(state: { readonly storage: ObjectStorage }) {
    this.#storage = state.storage;
    this.#sql(
      'CREATE TABLE IF NOT EXISTS sluice (key TEXT PRIMARY KEY, text TEXT NOT NULL, expires_at INTEGER NOT NULL)',
    );
    const transaction: Transaction = (keys, decide) => {
      this.#storage.transactionSync(() => {
        const texts = keys.map((key) => this.#sql('SELECT text FROM sluice WHERE key = ?', key)[0]?.['text'] as string);
        for (const { key, text, expiresAtMs } of decide(texts, Date.now())) {
          if (text === undefined) this.#sql('DELETE FROM sluice WHERE key = ?', key);
          else this.#sql('INSERT OR REPLACE INTO sluice VALUES (?, ?, ?)', key, text, expiresAtMs);
        }
      });
    };
    this.#store = transactionStore({ source: 'durable-object', transaction });
  }

  async fetch(request: Request): Promise<Response> {
    const told = this.#perform((await request.json()) as Asked);
    if (this.#alarmMs === undefined) await this.alarm();
    return new Response(JSON.stringify(told), { headers: { 'content-type': 'application/json' } });
  }

  #perform({ op, asks }: Asked): Told {
    try {
      const parsed = asks.map((ask) => ({ ...ask, policy: parsePolicy(ask.policy) }));
      return this.#store.perform(op, parsed) as Answer;
    } catch (error) {
      const { code, message } = error as SluiceError;
      return { code, message };
    }
  }

  /** Removes what has ended, and sets another alarm for the rest. */
  async alarm(): Promise<void> {
    this.#sql('DELETE FROM sluice WHERE expires_at <= ?', Date.now());
    const [next] = this.#sql('SELECT min(expires_at) AS at FROM sluice');
    this.#alarmMs = (next?.['at'] as number | null) ?? undefined;
    if (this.#alarmMs !== undefined) await this.#storage.setAlarm(this.#alarmMs);
  }

  #sql(query: string, ...values: (string | number)[]): readonly Readonly<Record<string, unknown>>[] {
    return this.#storage.sql.exec(query, ...values).toArray();
  }
}
