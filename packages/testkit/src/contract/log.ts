/** The events of a test, in order. A test may wait until as many have happened as it expects. */
export class Log<Entry = unknown> {
  readonly all: Entry[] = [];
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  get count(): number {
    return this.all.length;
  }

  readonly add = (entry: Entry): void => {
    this.all.push(entry);
    const isDue = ({ count }: { readonly count: number }): boolean => count <= this.all.length;
    const due = this.#waiting.filter(isDue);
    this.#waiting = this.#waiting.filter((waiting) => !isDue(waiting));
    for (const { resolve } of due) resolve();
  };

  async reaches(count: number): Promise<void> {
    if (this.all.length < count) await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
  }
}
