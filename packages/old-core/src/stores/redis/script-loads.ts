/** A script that is being sent in full longer than this may never get a reply: the next call sends it again. */
const GIVEN_UP_AFTER_MS = 1000;

/**
 * Scripts that are being sent in full. One call sends a script to a node; calls that find it unknown there meanwhile
 * wait for that, instead of sending many kilobytes each.
 */
export class ScriptLoads {
  readonly #nodeOf: (key: string) => string | undefined;
  readonly #loading = new Map<string, { readonly sent: Promise<unknown>; readonly sentAtMs: number }>();

  /** @param nodeOf - The node of a key, in a cluster. */
  constructor(nodeOf: (key: string) => string | undefined) {
    this.#nodeOf = nodeOf;
  }

  /**
   * @param sendInFull - Sends a call with the script's source.
   * @param sendAgain - Sends the call by the script's SHA-1.
   * @param sendAlone - The same after a load has failed: what the server then does not know is sent in full, and no
   * call waits for another's load again.
   */
  load(
    sha1: string,
    key: string,
    sendInFull: () => Promise<unknown>,
    sendAgain: () => Promise<unknown>,
    sendAlone: () => Promise<unknown>,
  ): Promise<unknown> {
    const id = `${sha1} ${this.#nodeOf(key) ?? ''}`;
    const loading = this.#loading.get(id);
    if (loading !== undefined && performance.now() - loading.sentAtMs < GIVEN_UP_AFTER_MS) {
      return loading.sent.then(sendAgain, sendAlone);
    }
    const load = { sent: sendInFull(), sentAtMs: performance.now() };
    const end = (): void => {
      if (this.#loading.get(id) === load) this.#loading.delete(id);
    };
    this.#loading.set(id, load);
    load.sent.then(end, end);
    return load.sent;
  }
}
