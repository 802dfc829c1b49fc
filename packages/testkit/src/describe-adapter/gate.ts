/** A promise-based gate: callers wait until it opens. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** A counter; `reaches` resolves at a given count. */
export interface Tally {
  count: number;
  /** The highest that `count` has been. */
  readonly highest: number;
  add(units?: number): void;
  reaches(count: number): Promise<void>;
}

export function tally(): Tally {
  let waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  let highest = 0;
  return {
    count: 0,
    get highest() {
      return highest;
    },
    add(units = 1) {
      this.count += units;
      highest = Math.max(highest, this.count);
      for (const { count, resolve } of waiting) if (count <= highest) resolve();
      waiting = waiting.filter(({ count }) => count > highest);
    },
    async reaches(count) {
      if (highest >= count) return;
      await new Promise<void>((resolve) => waiting.push({ count, resolve }));
    },
  };
}
