import type { Port } from './clients/port.ts';
import { failureOf } from './failure.ts';
import type { Script } from './lua/generated/scripts.generated.ts';

const MAX_TRIES = 3;

/**
 * Runs scripts by their SHA-1. If the server does not know one (first use, restart, failover, SCRIPT FLUSH), the call is
 * sent once more with the source. No other failure is tried again because the call may have counted.
 */
export class ScriptRunner {
  readonly #port: Port;
  /** Scripts that are being sent: other calls wait for that, instead of sending many kilobytes each. */
  readonly #loading = new Map<Script, Promise<unknown>>();

  constructor(port: Port) {
    this.#port = port;
  }

  /** Pass the error of a rejection to {@link ScriptRunner.sendInFull}: a promise less for each call. */
  run({ sha1 }: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const away = this.#port.whyAway?.();
    return away === undefined ? this.#send('evalsha', sha1, keys, args) : Promise.reject(failureOf(away, false));
  }

  /**
   * The reply of a call that failed with this error, if the server did not know the script.
   *
   * @throws (rejects) StoreError for any other error.
   */
  async sendInFull(
    error: unknown,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    tries = 1,
  ): Promise<unknown> {
    if (!(error instanceof Error && /^NOSCRIPT|NoScriptError/.test(error.message))) throw failureOf(error);
    const loading = this.#loading.get(script);
    // In a cluster another node may have received it.
    if (loading !== undefined && tries < MAX_TRIES) {
      await loading.catch(() => undefined);
      return this.run(script, keys, args).catch((again: unknown) =>
        this.sendInFull(again, script, keys, args, tries + 1),
      );
    }
    const sent = this.#send('eval', script.source, keys, args);
    this.#loading.set(script, sent);
    try {
      return await sent;
    } catch (failure) {
      throw failureOf(failure);
    } finally {
      if (this.#loading.get(script) === sent) this.#loading.delete(script);
    }
  }

  /** A client that throws at once fails like one that rejects. */
  #send(how: 'evalsha' | 'eval', script: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return Promise.resolve(this.#port[how](script, keys, args));
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
      return Promise.reject(error);
    }
  }
}
