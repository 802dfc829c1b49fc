import type { PolicyRecord, PolicySource } from '@sluice/core/managed';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConsulKeys, type Folder } from './consul-keys.ts';

/** The place of the policies in Consul, and the access to it. */
export interface ConsulSourceOptions {
  /** Of an agent. Default `http://127.0.0.1:8500`. */
  readonly address?: string;
  /** The folder of the policies, with a key for each. Default `sluice/policies`. */
  readonly folder?: string;
  /** The token of this process, sent as `X-Consul-Token`. */
  readonly token?: string;
  /** The time limit of an answer, in milliseconds. Default 4000. */
  readonly timeoutMs?: number;
  /** The longest wait of a blocking query, in milliseconds. Default 30 000. */
  readonly waitMs?: number;
}

/** The least time between two queries, also with many changes, or when Consul does not block. */
const PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Managed policies in Consul's key-value store, one key for each: `createPolicies(consulSource())`. A put is a
 * check-and-set; a blocking query reports changes, until the policies are closed.
 */
export function consulSource(options: ConsulSourceOptions = {}): PolicySource {
  return new ConsulSource(options);
}

class ConsulSource implements PolicySource {
  readonly #keys: ConsulKeys;
  readonly #waitMs: number;
  /** Consul's version of each record, which the next put must name. */
  readonly #versions = new WeakMap<object, number>();

  constructor({ address, folder = 'sluice/policies', token, timeoutMs = 4000, waitMs = 30_000 }: ConsulSourceOptions) {
    this.#keys = new ConsulKeys({ address: address ?? 'http://127.0.0.1:8500', folder, token, timeoutMs });
    this.#waitMs = waitMs;
  }

  async load(): Promise<Readonly<Record<string, unknown>>> {
    const { keys } = await this.#keys.read();
    return Object.fromEntries(
      keys.map(({ name, text, version }) => {
        const record = recordOf(text);
        this.#versions.set(record, version);
        return [name, record];
      }),
    );
  }

  watch(changed: () => void): () => void {
    const watching = new AbortController();
    void this.#listen(changed, watching.signal);
    return () => {
      watching.abort();
    };
  }

  async put(name: string, record: PolicyRecord, before: unknown): Promise<boolean> {
    // 0 requires that the key does not exist.
    const version = this.#versions.get(before as object) ?? 0;
    return this.#keys.checkAndSet(name, JSON.stringify(record), version);
  }

  async #listen(changed: () => void, watching: AbortSignal): Promise<void> {
    let index = 0;
    let failures = 0;
    while (!watching.aborted) {
      try {
        const folder: Folder = await this.#keys.readAfter(index, this.#waitMs, watching);
        if (folder.index !== index) changed();
        index = nextIndex(index, folder.index);
        failures = 0;
      } catch {
        failures++; // a load rejects with the reason; meanwhile polling finds changes
        index = 0;
      }
      await pause(Math.min(PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS), watching);
    }
  }
}

/**
 * The index to wait from, by Consul's documentation of blocking queries: an index that goes back (a snapshot that was
 * restored) starts again with 0, and one that is not above 0 would not block at all.
 */
function nextIndex(before: number, answered: number): number {
  if (answered < 1) return 1;
  return answered < before ? 0 : answered;
}

/** Text that is not JSON is still a record, of a policy that is unusable and can be put again. */
function recordOf(text: string): object {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record === 'object' && record !== null) return record;
  } catch {
    // A key of another program.
  }
  return { unreadable: text };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
