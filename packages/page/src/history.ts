/** A change that an operator made. */
export interface PageChange {
  readonly atMs: number;
  /** Who: what `authorize` returned, the name of the login, or what the operator wrote. */
  readonly by: string;
  readonly action: 'block' | 'unblock' | 'reset' | 'set override' | 'end override';
  /** What: the key and its limit. A hashed key where keys are shown hashed. */
  readonly target: string;
  /** Such as `for 10m`, or the numbers before and after. */
  readonly detail: string;
  readonly reason: string;
}

const MOST = 100;

/** A change as this process shows it, and as others are told of it: without the text of a long key. */
export interface ToldChange {
  readonly change: PageChange;
  readonly shared: PageChange;
}

/** The last changes that were made with this page, the last one first, in this process. */
export class History {
  readonly #changes: ToldChange[] = [];
  readonly #told: (told: ToldChange) => void;

  /** @param told - Is called with each change. */
  constructor(told: (told: ToldChange) => void) {
    this.#told = told;
  }

  /** @param sharedTarget - The target as other processes are told of it. */
  add(given: Omit<PageChange, 'atMs'>, sharedTarget: string): void {
    const change = { atMs: Date.now(), ...given };
    const told = { change, shared: { ...change, target: sharedTarget } };
    this.#changes.unshift(told);
    if (this.#changes.length > MOST) this.#changes.pop();
    this.#told(told);
  }

  get changes(): readonly ToldChange[] {
    return this.#changes;
  }
}
