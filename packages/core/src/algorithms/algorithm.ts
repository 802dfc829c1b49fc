/** What one policy answers about one key: the fields of a `PolicyDecision` but for its name and window. */
export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number;
  readonly nextAfterMs: number | null;
  readonly delayMs: number;
}

/**
 * A policy's rule as a pure function: no clock, no I/O, nothing changed in place. When the cost is refused, or 0, the
 * state that comes back is the very one that was given. A cost of 0 is always allowed and shows how things stand.
 * `holder`, digits, is who holds what is taken, where that has to be known.
 */
export type Kernel<P, S> = (
  policy: P,
  state: S | undefined,
  cost: number,
  nowMs: number,
  holder?: string,
) => { readonly state: S | undefined; readonly verdict: Verdict };

/**
 * How a state is kept as two numbers. `first` is an instant: until then the state is not as if never used. A state is
 * unpacked under the policy that it was packed under, or one with the same numbers.
 */
export interface Packing<P, S> {
  /** Whether two numbers say all of a state. Default: they do. */
  fits?(policy: P, state: S): boolean;
  first(state: S): number;
  second(state: S): number;
  unpack(policy: P, first: number, second: number): S;
}

/** What every policy carries, whatever its algorithm. */
export interface PolicyBase {
  readonly algorithm: string;
  readonly name?: string;
}

/**
 * One algorithm: what its folder exports and the registry lists. `kernel`, `refund`, `charge`, `renew`, `used` and `carry`
 * have a twin in `kernel.lua`; all numbers are integers.
 *
 * A new algorithm is a folder beside this file and one line in `index.ts`.
 */
export interface Algorithm<P extends PolicyBase, S> {
  /** The `algorithm` of its policies. */
  readonly name: P['algorithm'];
  /** One letter that stands for the layout of its state in keys and scripts. Never given to another layout. */
  readonly kind: string;
  readonly kernel: Kernel<P, S>;
  /** Set where an admitted request may be told to wait (`delayMs`): it was given a place in time, and not only units. */
  readonly paces?: true;
  /** What its units are, where they are not requests of some time: see `PolicyDecision.unit`. */
  readonly unit?: 'concurrent-requests';

  /**
   * The state after `cost` units that were charged in the window which was over at `chargedUntilMs` (the instant of
   * that decision plus its `resetAfterMs`) are given back, or `state` itself when that window is gone or holds nothing.
   */
  refund(policy: P, state: S, cost: number, chargedUntilMs: number, nowMs: number, holder?: string): S | undefined;

  /**
   * The state after `cost` units more were charged to the window that is over at `chargedUntilMs`, whatever the limit says:
   * they have been used. `state` itself when that window is gone, and nothing can be charged to it any more; a bucket takes
   * them at any time. As many as can be counted.
   */
  charge(policy: P, state: S | undefined, cost: number, chargedUntilMs: number, nowMs: number): S | undefined;

  /** Units that a state holds at this instant: those that an unused key would admit beyond what this one does. */
  used(policy: P, state: S, nowMs: number): number;

  /**
   * The state in which so many units, above 0, are used at this instant: what becomes of a key whose policy has changed.
   *
   * @param from - The state that the units come from, and its policy, where that was one of this algorithm: its window goes
   * on.
   */
  carry(policy: P, units: number, nowMs: number, from?: { readonly policy: P; readonly state: S }): S;

  /**
   * Of an algorithm whose units are held in slots: the state in which a holder's slot expires anew; undefined when it is
   * not held any more.
   */
  renew?(policy: P, state: S, cost: number, nowMs: number, holder?: string): S | undefined;

  /**
   * Of an algorithm whose states are long, and lie in a key of their own: what stands in the key's value with the states of
   * other policies. A state as well, which by itself is never too early.
   */
  outline?(state: S): S;

  /** Of an algorithm whose states are two numbers, often or always: memory keeps them as such, without an object per key. */
  readonly packing?: Packing<P, S>;

  /** The instant from which the state decides as no state would. Depends on the state alone, not on the time. */
  resetAtMs(policy: P, state: S): number;

  /** The state as Redis keeps it: digits and colons. */
  encode(state: S): string;

  /** What `encode` wrote, or undefined when the text is something else. */
  decode(text: string): S | undefined;

  /** The policy as its Lua twin takes it: the limit (or capacity) first. The same count of integers for every policy. */
  numbers(policy: P): readonly number[];

  /** How many counts a state holds at most, where that is more than a few: so much more work it is. */
  counts?(policy: P): number;

  /** The span that a client is told: the window, or the time that fills the bucket. */
  windowMs(policy: P): number;

  /**
   * The policy with a share of its units, above 0 and below 1: rounded down, at least one. Throws PolicyError when that
   * cannot be counted exactly.
   */
  share(policy: P, share: number): P;

  /** Checks the numbers of a policy, however it came here, and freezes a copy. Throws PolicyError. */
  parse(policy: P): P;
}
