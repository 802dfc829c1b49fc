/** Whether the service takes requests: false until its first configuration is loaded, and once it shuts down. */
export class Health {
  #isServing = false;
  readonly #listeners = new Set<() => void>();

  get isServing(): boolean {
    return this.#isServing;
  }

  set isServing(isServing: boolean) {
    if (isServing === this.#isServing) return;
    this.#isServing = isServing;
    for (const listener of this.#listeners) listener();
  }

  /** Calls the listener after each change, until the returned function is called. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
