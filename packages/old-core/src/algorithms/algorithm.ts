/** The verdict of one policy on one key: the fields of a `PolicyDecision` without its name and window. */
export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number;
  readonly nextAfterMs: number | null;
  readonly delayMs: number;
  readonly used: number;
}

/**
 * A policy's rule as a pure function: no clock, no I/O, and the state is never changed in place. When the cost is
 * denied, or 0, the kernel returns the same state object. A cost of 0 is always allowed and returns the current
 * verdict. `holder` (digits) identifies the holder of a slot, for algorithms that need one.
 */
export type Kernel<P, S> = (
  policy: P,
  state: S | undefined,
  cost: number,
  nowMs: number,
  holder?: string,
) => { readonly state: S | undefined; readonly verdict: Verdict };

/**
 * How a state is stored as two numbers. `first` is an instant: the state does not end before it. A state is unpacked
 * with the policy with which it was packed, or one with the same numbers.
 */
export interface Packing<P, S> {
  /** Whether two numbers hold the whole state. Default: true. */
  fits?(policy: P, state: S): boolean;
  first(state: S): number;
  second(state: S): number;
  unpack(policy: P, first: number, second: number): S;
}

/** The members of every policy, whatever its algorithm. */
export interface PolicyBase {
  readonly algorithm: string;
  readonly name?: string;
}

/** One option of the function that makes an algorithm's policies, as a command shows it. */
export interface FactoryOption {
  /** The placeholder of its value, one word. */
  readonly placeholder: string;
  readonly description: string;
}

/** The function that makes an algorithm's policies. It has the algorithm's name. */
export interface Factory {
  /** Checks options of any type. */
  readonly make: (options: never) => PolicyBase;
  /** Its options, without `name`. */
  readonly options: Readonly<Record<string, FactoryOption>>;
}

/** The figures of a state without the numbers of its policy; null if unknown. */
export interface StateAlone {
  readonly used: number | null;
  readonly resetAtMs: number | null;
}

/** One instance's part of a policy: whole units, and the fraction `weight / total` of everything else. */
export interface PolicyPart {
  readonly units: number;
  readonly weight: number;
  readonly total: number;
}

/** The common part of all ways to split a policy among instances. */
interface SplitBase<P> {
  /**
   * Shown beside the algorithm's name in lists of what can be split, such as "aligned to the clock". Default: nothing.
   */
  readonly needs?: string;
  /** Why this policy cannot be split; undefined if it can. Default: every policy can. */
  whyNot?(policy: P): string | undefined;
}

/** Windows start at whole multiples of their length since 1970: an instance counts its part of each window. */
export interface SplitWindows<P> extends SplitBase<P> {
  readonly windowsOnTheClock: true;
}

/** An instance counts a smaller policy of the same algorithm. */
export interface SplitParts<P> extends SplitBase<P> {
  /** The smaller policy; undefined if the part has no unit, or cannot be counted exactly. */
  part(policy: P, part: PolicyPart): P | undefined;
  /** How long units of any member still count after the members change. `lightest` is the smallest weight. */
  outlastsMs(policy: P, members: { readonly total: number; readonly lightest: number }): number;
  /** Set if a state means other units under another part: then the state contains the part that wrote it. */
  readonly statesDependOnPart?: true;
}

export type Split<P> = SplitWindows<P> | SplitParts<P>;

/**
 * One algorithm: what its folder exports and the registry lists. `kernel`, `refund`, `charge`, `countsDenied`, `renew`,
 * `used` and `migrate` have a twin in `kernel.lua`; all numbers are integers.
 *
 * A new algorithm is a folder beside this file and its line in `index.ts`. It declares here what it is able to do: no
 * other room tests its name.
 */
export interface Algorithm<P extends PolicyBase, S> {
  /** The `algorithm` of its policies. */
  readonly name: P['algorithm'];
  /** One letter that stands for the layout of its state in keys and scripts. Never given to another layout. */
  readonly kind: string;
  readonly kernel: Kernel<P, S>;
  /** Set for algorithms that may delay an allowed request (`delayMs`). */
  readonly paces?: true;
  /** The unit, for algorithms that do not count requests over time: see `PolicyDecision.unit`. */
  readonly unit?: 'concurrent-requests';

  /**
   * The state after a refund of `cost` units to the window that ends at `chargedUntilMs` (the instant of that
   * decision plus its `resetAfterMs`), or `state` itself when that window has ended or is empty.
   *
   * @param chargedUntilMs - Undefined where the decision is not known: the newest units that count, and as many at
   * most.
   */
  refund(
    policy: P,
    state: S,
    cost: number,
    chargedUntilMs: number | undefined,
    nowMs: number,
    holder?: string,
  ): S | undefined;

  /**
   * The state after `cost` more units are charged to the window that ends at `chargedUntilMs`, even above the limit,
   * because they have been used. `state` itself when that window has ended; a bucket can be charged at any time. At
   * most as many units as can be counted.
   *
   * @param chargedUntilMs - Undefined for units that are used now: they are counted as an allowed request is.
   */
  charge(
    policy: P,
    state: S | undefined,
    cost: number,
    chargedUntilMs: number | undefined,
    nowMs: number,
  ): S | undefined;

  /** Whether a policy adds the cost of a request that it denies itself, by `charge`. Default: none does. */
  countsDenied?(policy: P): boolean;

  /** Units that a state holds at this instant: an unused key would allow so many more. */
  used(policy: P, state: S, nowMs: number): number;

  /**
   * The state in which so many units, above 0, are used at this instant: how a key goes on after its policy changes.
   *
   * @param from - The policy and state before, if they are of this algorithm: their window goes on.
   */
  migrate(policy: P, units: number, nowMs: number, from?: { readonly policy: P; readonly state: S }): S;

  /**
   * For algorithms whose units are held in slots: the state in which the expiry of a holder's slot starts again;
   * undefined when the slot is no longer held.
   */
  renew?(policy: P, state: S, cost: number, nowMs: number, holder?: string): S | undefined;

  /**
   * The state with the end of a full one whose units are consumed now, where it ends later: a clock that ran ahead has
   * written it. Default: its units are consumed now, as `migrate` has it.
   */
  heal?(policy: P, state: S, nowMs: number): S;

  /**
   * For algorithms whose states are external (long, with a key of their own): the summary in the value of the main
   * key. A summary is also a state; decided by itself, it never allows too early.
   */
  summarize?(state: S): S;

  /**
   * For algorithms whose states are often or always two numbers: memory stores these numbers without an object per
   * key.
   */
  readonly packing?: Packing<P, S>;

  /**
   * The instant at which the state ends: from then on it decides as no state would. Depends on the state alone, not
   * on the time.
   */
  resetAtMs(policy: P, state: S): number;

  /** The state as Redis stores it: digits and colons. */
  encode(state: S): string;

  /** Reads what `encode` wrote; undefined for any other text. */
  decode(text: string): S | undefined;

  /**
   * The policy as its Lua twin takes it: the limit (or capacity) first. The same count of integers for every policy.
   */
  numbers(policy: P): readonly number[];

  /** The most counts that a state can hold, if that is more than a few: a measure of the work of a decision. */
  counts?(policy: P): number;

  /** The time span in header fields: the window, or the time that fills the bucket. */
  windowMs(policy: P): number;

  /**
   * The policy with a share of its units, above 0 and below 1: rounded down, at least one. Throws PolicyError when that
   * cannot be counted exactly.
   */
  share(policy: P, share: number): P;

  /** Absent if the function of another algorithm makes its policies. */
  readonly factory?: Factory;

  /** A policy in a few words, with all options that differ from the default, for commands. */
  written(policy: P): string;

  /** The figures of a state whose policy is not known. Absent if there are none. */
  inspect?(state: S, nowMs: number): StateAlone;

  /** How its policies are split among instances, or why they cannot be. */
  readonly split?: Split<P> | string;

  /** Checks the numbers of a policy from any source, and freezes a copy. Throws PolicyError. */
  parse(policy: P): P;
}
