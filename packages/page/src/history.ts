/** A change that an operator made. */
export interface PageChange {
  readonly atMs: number;
  /** Who: what `authorize` returned, the name of the login, or what the operator wrote. */
  readonly by: string;
  readonly action: 'block' | 'unblock' | 'reset' | 'change policy' | 'set override' | 'end override';
  /** What: the key and its limit, or the policy. A hashed key where keys are shown hashed. */
  readonly target: string;
  /** Such as `for 10m`, or the numbers before and after. */
  readonly detail: string;
  readonly reason: string;
}

const MOST = 100;

/** The last changes that were made with this page, the last one first, in this process. */
export class History {
  readonly #changes: PageChange[] = [];
  readonly #told: (change: PageChange) => void;

  /** @param told - Is called with each change. */
  constructor(told: (change: PageChange) => void) {
    this.#told = told;
  }

  add(change: Omit<PageChange, 'atMs'>): void {
    const entry = { atMs: Date.now(), ...change };
    this.#changes.unshift(entry);
    if (this.#changes.length > MOST) this.#changes.pop();
    this.#told(entry);
  }

  get changes(): readonly PageChange[] {
    return this.#changes;
  }
}
