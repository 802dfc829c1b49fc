import { memoryStore, StoreError, type Answer, type Ask, type Op, type Store } from '@sluice/core';

/** A store over memory, out of process as far as limiters know: it says what it was asked, and can be away. */
export class WatchedStore implements Store {
  readonly source = 'redis';
  readonly calls: string[] = [];
  /** Whether it fails; `unsent`: before anything was sent. */
  isAway: boolean | 'unsent' = false;
  /** Turns of the event loop until it answers. */
  turns = 0;
  /** Whether it decides, but its answer is lost. */
  isMute = false;
  readonly #memory: Store;

  constructor(memory: Store = memoryStore()) {
    this.#memory = memory;
  }

  async perform(op: Op, asks: readonly Ask[]): Promise<Answer> {
    this.calls.push(op);
    for (let i = 0; i < this.turns; i++) await new Promise(setImmediate);
    if (this.isAway !== false) {
      throw new StoreError('SLUICE_STORE_FAILED', 'away', { kind: 'connection', sent: this.isAway !== 'unsent' });
    }
    const answer = await this.#memory.perform(op, asks);
    return this.isMute ? new Promise(() => undefined) : answer;
  }

  close(): void {
    this.calls.push('close');
  }
}
