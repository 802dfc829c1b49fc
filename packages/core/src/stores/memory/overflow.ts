import type { Limit } from '../../engine/store.ts';
import { type Entry } from './entry.ts';
import { LruList } from '../../lru-list.ts';

export const OVERFLOW_BUCKETS = 1_024;
/** Selects the upper ten bits of a hash: they depend on the whole seed, the lower bits only on its lower bits. */
const BUCKET_SHIFT = 22;

/** Buckets that keys share when there is no room for each of them: 1024 per limiter. */
export class Overflow {
  readonly #buckets = new Map<string, Entry>();
  readonly #order = new LruList<Entry>();
  readonly #seed = Math.floor(Math.random() * 2 ** 32);

  get size(): number {
    return this.#buckets.size;
  }

  /** The bucket of a key; undefined when it is not in use. */
  get(subject: string, limit: Limit): Entry | undefined {
    return this.#buckets.get(this.nameOf(subject, limit) + limit.keySuffix);
  }

  /** The name of a bucket, which replaces the subjects of its keys. */
  nameOf(subject: string, { keySuffix }: Limit): string {
    return String(this.#bucketOf(subject + keySuffix));
  }

  add(entry: Entry): void {
    this.#buckets.set(entry.subject + entry.keySuffix, entry);
    this.#order.add(entry);
    entry.list = 'overflow';
  }

  delete(entry: Entry): void {
    this.#buckets.delete(entry.subject + entry.keySuffix);
    this.#order.delete(entry);
    entry.list = 'none';
  }

  /** The next bucket of an endless walk over all buckets. */
  walk(): Entry | undefined {
    return this.#order.walk();
  }

  /** FNV-1a, seeded per store so that clients cannot choose which keys share a bucket. */
  #bucketOf(key: string): number {
    let hash = this.#seed;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 16_777_619);
    return hash >>> BUCKET_SHIFT;
  }
}
