import { StoreError, shown } from '../errors.ts';
import { readOptions, type Field, type Options } from '../values/shape.ts';
import { connectTo, type RedisConnection } from '../stores/redis/connection.ts';
import type { AnyRedisClient } from '../stores/redis/clients/adopt.ts';
import type { Draft, Held } from './record.ts';
import { writeEvent, type ChangeEvent } from '../events/event.ts';
import { EVENTS_KEY, makeEventName, type Timeline } from '../events/timeline.ts';
import { read, write } from './scripts.generated.ts';
import type { Feed, Named, Page } from './source.ts';

const REDIS_SOURCE = {
  /** The name of the application: the same as its stores' prefix, without braces. */
  prefix: ((given) => given as string) as Field<string>, // checked with the client
};

export interface RedisSourceOptions extends Options<typeof REDIS_SOURCE> {}

/** Managed policies in Redis, for `createPolicies`. */
export interface RedisSource {
  readonly name: string;
}

/**
 * Managed policies in Redis, under a prefix. A change takes one script call, is published on the channel
 * `prefix:policies`, and is timed by the server. A store in the same Redis works too: `createPolicies(store)`.
 *
 * @param client - A client or a URL that `redisStore` takes.
 * @throws PolicyError for anything else, and without a prefix. Nothing is sent before the first use.
 */
export function redisSource(client: AnyRedisClient | string, options: RedisSourceOptions): RedisSource {
  const { prefix } = readOptions((options as unknown) ?? {}, REDIS_SOURCE, 'redisSource');
  return new RedisFeed(connectTo(client, prefix, 'redisSource'));
}

/** How many records one call reads: that takes the server about 2 ms. */
const PAGE = 1000;
/** A record as the script writes it. */
const WRITTEN = /^\{"atMs":(\d+),/;

export class RedisFeed implements RedisSource, Feed {
  readonly name: string;
  readonly timeline: Timeline;
  readonly #connection: RedisConnection;
  readonly #keys: readonly string[];
  readonly #channel: string;

  constructor(connection: RedisConnection) {
    const { prefix } = connection;
    this.#connection = connection;
    this.timeline = connection.timeline;
    // One hash tag, which no subject has: a key's subject never begins with # and a word.
    this.#keys = ['records', 'changes', 'revisions'].map((part) => `${prefix}:{#policies}:${part}`);
    this.#channel = `${prefix}:policies`;
    this.name = `${this.#keys[0] ?? ''} in Redis`;
  }

  async read(last: Page | undefined): Promise<Page> {
    const args = [(last?.cursor ?? '') as string, String(PAGE), last?.hasMore === true ? '1' : ''];
    const reply = await this.#connection.eval(read.source, this.#keys, args);
    if (!Array.isArray(reply) || reply.length < 4) {
      const got = `the script that reads policies returned an unexpected reply: ${shown(reply)}`;
      throw new StoreError('SLUICE_STORE_REPLY_INVALID', got);
    }
    const [nowMs, isFromStart, hasMore, cursor = '', ...fields] = reply.map(String);
    const page = { isFromStart: isFromStart === '1', hasMore: hasMore === '1', nowMs: Number(nowMs), cursor };
    return { ...page, records: readPairs(fields) };
  }

  async put(name: string, draft: Draft, before: Held | undefined, event: ChangeEvent): Promise<number> {
    const eventName = makeEventName();
    // The script writes the instant before both texts.
    const record = [name, String(before?.record.atMs ?? 0), JSON.stringify(draft).slice(1)];
    const atMs = Number(await this.#write('put', record, [eventName, writeEvent(event).slice(1)]));
    if (atMs > 0) this.timeline.keep({ ...event, atMs }, eventName);
    return atMs;
  }

  async restore(records: Named): Promise<void> {
    const args = records.map(([name, { atMs, ...rest }]) => [name, String(atMs), JSON.stringify({ atMs, ...rest })]);
    await this.#write('restore', args.flat());
  }

  async forget(records: Named): Promise<void> {
    const args = records.map(([name, { atMs }]) => [name, String(atMs), '']);
    await this.#write('forget', args.flat());
  }

  watch(changed: () => void): () => void {
    return this.#connection.subscribe(this.#channel, changed);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #write(how: string, records: readonly string[], event: readonly string[] = ['', '']): Promise<unknown> {
    const keys = [...this.#keys, `${this.#connection.prefix}:${EVENTS_KEY}`];
    return this.#connection.eval(write.source, keys, [this.#channel, how, ...event, ...records]);
  }
}

function* readPairs(fields: readonly string[]): Generator<readonly [string, unknown]> {
  for (let i = 0; i + 1 < fields.length; i += 2) yield [fields[i] as string, parse(fields[i + 1] as string)];
}

/** A record that the script did not write cannot be used, but can be replaced. */
function parse(text: string): unknown {
  const written = WRITTEN.exec(text);
  try {
    if (written !== null) return JSON.parse(text) as unknown;
  } catch {
    return { atMs: Number(written?.[1]), life: text };
  }
  return text;
}
