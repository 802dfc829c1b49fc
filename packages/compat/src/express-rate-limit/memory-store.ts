import { memoryStore, type MemoryStore as SluiceStore } from '@sluice/core';
import { ExpressStore } from './express-store.ts';
import type { Options } from './options.ts';
import type { Validations } from './validations.ts';

/** Hits in the memory of this process: at most 100 000 keys; those hit only once are forgotten first. */
export class MemoryStore extends ExpressStore {
  readonly #store: SluiceStore;
  readonly #validations: Validations | undefined;

  constructor(validations?: Validations) {
    // The clock that header fields use, and fake timers control.
    const store = memoryStore({ clock: { now: () => Date.now() } });
    super({ store });
    this.#store = store;
    this.#validations = validations;
  }

  override init(options: Options): void {
    super.init(options);
    this.#validations?.windowMs(options.windowMs);
  }

  resetAll(): Promise<void> {
    this.#store.clear();
    return Promise.resolve();
  }

  /** Forgets all keys. The store may still be used. */
  override async shutdown(): Promise<void> {
    await this.resetAll();
  }
}
