import type { Limit } from '../store.ts';
import { type Entry } from './entry.ts';
import { UseOrder } from './use-order.ts';

export const OVERFLOW_BUCKETS = 1_024;
/** The upper ten bits of a hash: they depend on all of the seed, the lower ones on its lower ones alone. */
const BUCKET_SHIFT = 22;

/** Buckets that keys share where there is no room for each: 1024 per limiter. */
export class Overflow {
  readonly #buckets = new Map<string, Entry>();
  readonly #order = new UseOrder<Entry>();
  readonly #seed = Math.floor(Math.random() * 2 ** 32);

  get size(): number {
    return this.#buckets.size;
  }

  /** The bucket that a key is in; undefined where it is not used. */
  get(subject: string, limit: Limit): Entry | undefined {
    return this.#buckets.get(this.nameOf(subject, limit) + limit.scope);
  }

  /** What a bucket is called in place of its keys. */
  nameOf(subject: string, { scope }: Limit): string {
    return `{${String(this.#bucketOf(subject + scope))}}`; // no subject holds a brace
  }

  add(entry: Entry): void {
    this.#buckets.set(entry.subject + entry.scope, entry);
    this.#order.add(entry);
    entry.place = 'overflow';
  }

  delete(entry: Entry): void {
    this.#buckets.delete(entry.subject + entry.scope);
    this.#order.delete(entry);
    entry.place = 'nowhere';
  }

  /** The next one of a walk round and round all of them. */
  walk(): Entry | undefined {
    return this.#order.walk();
  }

  /** FNV-1a, seeded per store so that nobody outside can choose who shares a bucket with whom. */
  #bucketOf(key: string): number {
    let hash = this.#seed;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 16_777_619);
    return hash >>> BUCKET_SHIFT;
  }
}
