import {
  createLimiter,
  fixedWindow,
  memoryStore,
  PolicyError,
  redisStore,
  StoreError,
  type Store,
} from '@sluice/express';
import { SettingError } from '../settings.ts';

/** The store of this run. */
export interface DemoStore {
  readonly store: Store;
  /** `memory`, or the Redis URL without its password. */
  readonly label: string;
  /** Makes one decision. Resolves to the error, or undefined. */
  check(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** A limit without effect, to check whether the store works. */
const PROBE = {
  name: 'probe',
  policy: fixedWindow({ limit: 1, window: '1s' }),
  onStoreError: 'throw',
  timeoutMs: 2000,
} as const;

/**
 * Redis when a URL is given, else this process's memory. Connects on the first decision.
 *
 * @throws SettingError for an invalid Redis URL.
 */
export function demoStore(redisUrl: string | undefined): DemoStore {
  const store: Store = redisUrl === undefined ? memoryStore() : redisStoreAt(redisUrl);
  const probe = createLimiter({ ...PROBE, store });
  return {
    store,
    label: redisUrl === undefined ? 'memory' : withoutPassword(redisUrl),
    check: async () => {
      try {
        await probe.peek('anybody');
        return undefined;
      } catch (error) {
        if (error instanceof StoreError) return error.message;
        throw error;
      }
    },
    close: async () => {
      await store.close?.();
    },
  };
}

function redisStoreAt(url: string): Store {
  try {
    return redisStore(url, { prefix: 'sluice:live-traffic' });
  } catch (error) {
    if (error instanceof PolicyError) throw new SettingError(`REDIS_URL: ${error.message}`, { cause: error });
    throw error;
  }
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password !== '') shown.password = '***';
  return shown.href;
}
