import { StoreError } from '@sluice/old-core';
import { failureOf, runScript, shown, type RedisConnection } from '@sluice/old-core/spi';
import type { PolicyRecord, PolicySource } from './policy-source.ts';
import { RedisOverrides } from './redis-overrides.ts';
import type { OverrideRecord } from './overrides/override-record.ts';
import { readRecordName } from './overrides/target.ts';
import { registryLoad, registryPut } from './scripts.generated.ts';

/**
 * Policies in a hash of Redis: records by name, and a revision, so that polling costs one small reply while nothing
 * has changed. Loading and putting are one script each. A put is published on a channel with the name of the hash.
 */
export class RedisPolicySource implements PolicySource {
  readonly name: string;
  readonly overrides: RedisOverrides;
  readonly #connection: RedisConnection;
  readonly #key: string;
  #revision = '';
  #records: Readonly<Record<string, unknown>> = Object.freeze({});
  /** The text of each record in Redis. A write compares it, so that it replaces only what was read. */
  readonly #texts = new WeakMap<object, string>();

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#key = `${connection.prefix}:policies`;
    this.name = `${connection.keyPrefix}${this.#key} in Redis`;
    this.overrides = new RedisOverrides(connection);
  }

  async load(): Promise<Readonly<Record<string, unknown>>> {
    const known = { revision: this.#revision, records: this.#records };
    const reply = await this.#run(registryLoad, [known.revision]);
    if (!Array.isArray(reply)) {
      if (String(reply) === known.revision) return known.records;
      throw new StoreError(
        'SLUICE_STORE_REPLY_INVALID',
        `the reply of the script that loads policies has an unknown form: ${shown(reply)}`,
      );
    }
    const [revision, ...fields] = reply.map(String);
    const records = Object.create(null) as Record<string, unknown>;
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [name, text] = [fields[i] as string, fields[i + 1] as string];
      if (name !== '#revision') records[name] = this.#known(known.records[name], text) ?? this.#read(text);
    }
    this.#revision = revision ?? '';
    this.#records = Object.freeze(records);
    return records;
  }

  /** The record that was read before, if its text is still the same: of many policies, few change. */
  #known(before: unknown, text: string): object | undefined {
    return this.#texts.get(before as object) === text ? (before as object) : undefined;
  }

  /** Text that is not JSON is a record too: its policy cannot be used, and can be put again. */
  #read(text: string): object {
    let record: unknown;
    try {
      record = JSON.parse(text);
    } catch {
      record = undefined;
    }
    const read = typeof record === 'object' && record !== null ? record : { unreadable: text };
    this.#texts.set(read, text);
    return read;
  }

  async watch(changed: () => void, ended: () => void): Promise<() => unknown> {
    const client = await this.#connection.open();
    return client.subscribe?.(this.#connection.keyPrefix + this.#key, changed, ended) ?? (() => undefined);
  }

  async put(name: string, record: PolicyRecord | OverrideRecord, before: unknown): Promise<boolean> {
    if (readRecordName(name) !== undefined) return this.overrides.put(name, record, before);
    const text = before === undefined ? '' : (this.#texts.get(before as object) ?? '');
    const reply = await this.#run(registryPut, [name, text, JSON.stringify(record)]);
    this.#revision = ''; // the next load reads what was written
    return Number(reply) === 1;
  }

  async remove(name: string, tombstone: PolicyRecord | OverrideRecord, before: unknown): Promise<boolean> {
    return this.put(name, tombstone, before);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #run(script: { readonly source: string; readonly sha1: string }, args: readonly string[]): Promise<unknown> {
    try {
      return await runScript(await this.#connection.open(), script, [this.#key], args);
    } catch (error) {
      throw failureOf(error);
    }
  }
}
