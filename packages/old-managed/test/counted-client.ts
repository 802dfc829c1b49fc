import type { Redis } from 'ioredis';
import type { RedisClient } from '@sluice/old-core';

/**
 * A client that counts its calls. It has no notifications: changes are found by polling, or when the test publishes
 * them.
 */
export interface CountedClient extends RedisClient {
  /** Calls that decide or edit, by the keys they name. */
  readonly decisions: (readonly string[])[];
  /** How often the policies were polled. */
  readonly asked: number;
  /** Says that something has changed. */
  notify(): void;
}

/** Whether a call reads overrides: as often as policies. */
export function isOfOverrides([key = '']: readonly string[]): boolean {
  return key.startsWith('sluice:{#overrides}:');
}

export function countedClient(redis: Redis): CountedClient {
  const decisions: (readonly string[])[] = [];
  const listeners = new Set<() => void>();
  let asked = 0;
  const count = (keys: readonly string[]): void => {
    if (keys[0] === 'sluice:policies') asked++;
    else if (!isOfOverrides(keys)) decisions.push(keys);
  };
  return {
    decisions,
    get asked() {
      return asked;
    },
    notify() {
      for (const heard of listeners) heard();
    },
    subscribe: (_channel, heard) => {
      listeners.add(heard);
      return () => listeners.delete(heard);
    },
    evalsha(sha1, keys, args) {
      count(keys);
      return redis.evalsha(sha1, keys.length, ...keys, ...args);
    },
    eval(script, keys, args) {
      return redis.eval(script, keys.length, ...keys, ...args); // after NOSCRIPT: it was counted
    },
  };
}
