/** The events of a test, in order. A test may wait for the number of events it expects. */
export class Log<Entry = unknown> {
  readonly all: Entry[] = [];
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  get count(): number {
    return this.all.length;
  }

  readonly add = (entry: Entry): void => {
    this.all.push(entry);
    const due = this.#waiting.filter(({ count }) => count <= this.all.length);
    this.#waiting = this.#waiting.filter(({ count }) => count > this.all.length);
    for (const { resolve } of due) resolve();
  };

  async reaches(count: number): Promise<void> {
    if (this.all.length < count) await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
  }
}
