import { localClocks, type LocalClocks } from '../../../platform/clock.ts';
import { ownText } from '../../../engine/own-text.ts';
import { LruList, type Linked } from '../../../engine/lru-list.ts';
import type { Part } from '../../../engine/store.ts';

const MOST_KEYS = 10_000;
/** How long after its last denial a key is remembered. */
const AGE_MS = 10_000;

interface DeniedKey extends Linked<DeniedKey> {
  readonly key: string;
  deniedAtMs: number;
}

/** The keys that have denied lately: the most recent 10 000, for ten seconds each. */
export class RecentDenials {
  readonly #clocks: LocalClocks;
  readonly #keys = new Map<string, DeniedKey>();
  readonly #order = new LruList<DeniedKey>();

  constructor(clocks: LocalClocks = localClocks) {
    this.#clocks = clocks;
  }

  add(part: Part): void {
    const nowMs = this.#clocks.monotonicMs();
    const key = keyOf(part);
    const known = this.#keys.get(key);
    if (known !== undefined) {
      known.deniedAtMs = nowMs;
      this.#order.use(known);
      return;
    }
    const denied: DeniedKey = { key: ownText(key), deniedAtMs: nowMs, older: undefined, newer: undefined };
    this.#keys.set(denied.key, denied);
    this.#order.add(denied);
    for (let i = 0; i < 2; i++) {
      const { oldest } = this.#order;
      if (oldest === undefined || (this.#keys.size <= MOST_KEYS && nowMs - oldest.deniedAtMs < AGE_MS)) return;
      this.#order.delete(oldest);
      this.#keys.delete(oldest.key);
    }
  }

  has(part: Part): boolean {
    if (this.#keys.size === 0) return false;
    const denied = this.#keys.get(keyOf(part));
    return denied !== undefined && this.#clocks.monotonicMs() - denied.deniedAtMs < AGE_MS;
  }
}

function keyOf({ limit, subject }: Part): string {
  return `${limit.keySuffix} ${subject}`;
}
