import type { StoreCall } from '../store.ts';
import type { RedisClient } from './client.ts';

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

/**
 * Runs a script by its SHA-1: one round trip. When the server does not know it (first use, restart, failover, SCRIPT
 * FLUSH) it is sent once in full. Not for a decision that nobody waits for any more. Nothing else is tried again: a call that failed otherwise may have counted.
 */
export function runScript(
  client: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  waiting?: StoreCall,
): Promise<unknown> {
  return called(() => client.evalsha(script.sha1, keys, args)).catch((error: unknown) => {
    if (!isNoScript(error) || waiting?.abandoned === true) throw error;
    return client.eval(script.source, keys, args);
  });
}

/** Of a client of any make: one that throws at once has failed as well. */
function called(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return Promise.resolve(call());
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
    return Promise.reject(error);
  }
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && /^NOSCRIPT|NoScriptError/.test(error.message);
}
