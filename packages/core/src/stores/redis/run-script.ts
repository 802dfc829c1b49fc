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

  /** @throws (rejects) StoreError. */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const away = this.#port.whyAway?.();
    if (away !== undefined) return Promise.reject(failureOf(away, false));
    return this.#bySha1(script, keys, args, 1);
  }

  #bySha1(script: Script, keys: readonly string[], args: readonly string[], tries: number): Promise<unknown> {
    return this.#send('evalsha', script.sha1, keys, args).catch((error: unknown) => {
      if (!(error instanceof Error && /^NOSCRIPT|NoScriptError/.test(error.message))) throw failureOf(error);
      const loading = this.#loading.get(script);
      // In a cluster another node may have received it.
      if (loading !== undefined && tries < MAX_TRIES) {
        const again = (): Promise<unknown> => this.#bySha1(script, keys, args, tries + 1);
        return loading.then(again, again);
      }
      const sent = this.#send('eval', script.source, keys, args).catch((failure: unknown) => {
        throw failureOf(failure);
      });
      this.#loading.set(script, sent);
      const end = (): void => {
        if (this.#loading.get(script) === sent) this.#loading.delete(script);
      };
      sent.then(end, end);
      return sent;
    });
  }

  /** A client that throws at once fails like one that rejects. */
  #send(how: 'evalsha' | 'eval', script: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return Promise.resolve(this.#port[how](script, keys, args));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }
}
