import { StoreError } from '@sluice/old-core';
import { failureOf, runScript, shown, type RedisConnection } from '@sluice/old-core/spi';
import type { OverridePage, OverrideSource } from './policy-source.ts';
import { overridesChanges, overridesPut, overridesRead } from './scripts.generated.ts';

/** How many overrides one call returns: they keep the server busy for about 2 ms. */
const PAGE = 1000;

/** What Redis returned instead of a record: its policy cannot be used, and can be put again. */
interface Unreadable {
  readonly unreadable: string;
}

/**
 * Overrides in a hash of Redis, beside a sorted set of their names by the revision of their last change: a poll without
 * changes is one small reply. The keys have the hash tag of no subject, so that they are on one node of a cluster.
 */
export class RedisOverrides implements OverrideSource {
  readonly #connection: RedisConnection;
  readonly #keys: readonly string[];
  /** The text of each record that `read` returned. A write compares it, so that it replaces only what was read. */
  readonly #texts = new WeakMap<object, string>();

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#keys = ['records', 'changes'].map((part) => `${connection.prefix}:{#overrides}:${part}`);
  }

  async changes(cursor = ''): Promise<OverridePage> {
    const reply = await this.#run(overridesChanges, [cursor, String(PAGE)]);
    if (!Array.isArray(reply) || reply.length < 4) {
      throw new StoreError(
        'SLUICE_STORE_REPLY_INVALID',
        `the reply of the script that loads overrides has an unknown form: ${shown(reply)}`,
      );
    }
    const [nowMs, isFromStart, hasMore, next, ...fields] = reply.map(String);
    return {
      records: recordsOf(fields),
      cursor: next ?? '',
      hasMore: hasMore === '1',
      isFromStart: isFromStart === '1',
      nowMs: Number(nowMs),
    };
  }

  async read(name: string): Promise<unknown> {
    const text = await this.#run(overridesRead, [name]);
    if (typeof text !== 'string') return undefined;
    const record = recordOf(text);
    this.#texts.set(record, text);
    return record;
  }

  async put(name: string, record: object, before: unknown): Promise<boolean> {
    const text = before === undefined ? '' : (this.#texts.get(before as object) ?? '');
    const { keyPrefix, prefix } = this.#connection;
    const channel = `${keyPrefix}${prefix}:policies`;
    return Number(await this.#run(overridesPut, [name, text, JSON.stringify(record), channel])) === 1;
  }

  async #run(script: { readonly source: string; readonly sha1: string }, args: readonly string[]): Promise<unknown> {
    try {
      return await runScript(await this.#connection.open(), script, this.#keys, args);
    } catch (error) {
      throw failureOf(error);
    }
  }
}

/** Records by name, each parsed when it is its turn. */
function* recordsOf(fields: readonly string[]): Generator<readonly [string, object]> {
  for (let i = 0; i + 1 < fields.length; i += 2) yield [fields[i] as string, recordOf(fields[i + 1] as string)];
}

function recordOf(text: string): object | Unreadable {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record === 'object' && record !== null) return record;
  } catch {
    // Not what Sluice wrote.
  }
  return { unreadable: text };
}
