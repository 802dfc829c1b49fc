import { StoreError } from '../../errors.ts';
import type { StoreCall } from '../../engine/store.ts';
import type { AdoptedClient, RedisClient } from './client.ts';
import type { ScriptLoads } from './script-loads.ts';

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

/**
 * Runs a script by its SHA-1: one round trip. If the server does not know the script (first use, restart, failover,
 * SCRIPT FLUSH), the call is sent once more with its source, unless it was abandoned. No other failure is retried
 * because the failed call may have counted.
 *
 * @param loads - Where given, a call that would send the source while another one does so to the same node waits for
 * that, and is sent by its SHA-1 again.
 */
export function runScript(
  client: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  waiting?: StoreCall,
  loads?: ScriptLoads,
): Promise<unknown> {
  return called(client, 'evalsha', script.sha1, keys, args).catch((error: unknown) =>
    sentInFull(error, client, script, keys, args, waiting, loads),
  );
}

/**
 * The reply to a call by SHA-1 that has failed, where the server did not know the script: see {@link runScript}.
 *
 * @throws (rejects) any other error.
 */
export async function sentInFull(
  error: unknown,
  client: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  waiting: StoreCall | undefined,
  loads: ScriptLoads | undefined,
): Promise<unknown> {
  if (!isNoScript(error)) throw explained(client, error);
  if (waiting?.abandoned === true) throw abandonedError();
  const sendInFull = (): Promise<unknown> =>
    called(client, 'eval', script.source, keys, args).catch((failure: unknown) => {
      throw explained(client, failure);
    });
  if (loads === undefined) return sendInFull();
  const sendAgain = (after?: ScriptLoads): Promise<unknown> => {
    if (waiting?.abandoned === true) throw abandonedError();
    return runScript(client, script, keys, args, waiting, after);
  };
  return loads.load(
    script.sha1,
    keys[0] ?? '',
    sendInFull,
    () => sendAgain(loads),
    () => sendAgain(),
  );
}

/** The error of a call whose callers waited no longer when it could be sent. */
export function abandonedError(): StoreError {
  return new StoreError('SLUICE_STORE_TIMEOUT', 'the call was abandoned before it was sent');
}

/** Calls a client of any kind: one that throws at once fails like one that rejects. */
export function called(
  client: RedisClient,
  op: 'evalsha' | 'eval',
  script: string,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  try {
    return Promise.resolve(client[op](script, keys, args));
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
    return Promise.reject(error);
  }
}

function explained(client: AdoptedClient, error: unknown): unknown {
  return client.explain?.(error) ?? error;
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && /^NOSCRIPT|NoScriptError/.test(error.message);
}
