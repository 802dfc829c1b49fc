/** Lists of what has happened in a target, by name; `reaches` resolves at a given length. */
export class Records {
  readonly #lists = new Map<string, unknown[]>();
  #waiting: { readonly list: string; readonly count: number; readonly resolve: () => void }[] = [];

  add(list: string, entry: unknown): void {
    const entries = this.#lists.get(list) ?? [];
    if (entries.length === 0) this.#lists.set(list, entries);
    entries.push(entry);
    this.#release((waiting) => waiting.list === list && waiting.count <= entries.length);
  }

  of(list: string): readonly unknown[] {
    return this.#lists.get(list) ?? [];
  }

  async reaches(list: string, count: number): Promise<void> {
    if (this.of(list).length >= count) return;
    await new Promise<void>((resolve) => this.#waiting.push({ list, count, resolve }));
  }

  /** Forgets everything, and resolves what still waits. */
  clear(): void {
    this.#lists.clear();
    this.#release(() => true);
  }

  #release(isDue: (waiting: { readonly list: string; readonly count: number }) => boolean): void {
    if (this.#waiting.length === 0) return;
    const due = this.#waiting.filter(isDue);
    this.#waiting = this.#waiting.filter((waiting) => !due.includes(waiting));
    for (const { resolve } of due) resolve();
  }
}
