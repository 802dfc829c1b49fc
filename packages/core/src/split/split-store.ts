import { setTimeout as sleep } from 'node:timers/promises';
import { getMessage, SluiceError, StoreError } from '../errors.ts';
import { MAX_TIMER_MS } from '../platform.ts';
import { compile, describePolicy, type Policy } from '../policies/index.ts';
import { ALLOWED, NEXT_AFTER, REMAINING, RESET_AFTER, RETRY_AFTER, USED } from '../program/decide.ts';
import { memoryStore, type MemoryStore } from '../stores/memory.ts';
import type { Answer, Ask, Figures, Op, Store } from '../stores/store.ts';
import { invalid, optional, readOptions, timerMs, valueThat, wholeNumber } from '../values/shape.ts';
import type { Field, Optional, Options } from '../values/shape.ts';
import { localTime, type LocalTime } from './membership/membership-clock.ts';
import type { Membership } from './membership/membership.ts';
import { MembershipClock } from './membership/membership-clock.ts';
import { MembershipStatus } from './membership-status.ts';
import { Overlaps } from './shares/overlaps.ts';
import { checkSplittable, findFitTime, holdTo, findMemberTime, readShare, type Share } from './shares/share.ts';

const SPLIT = {
  /**
   * The instances that share the limits: `redisMembership(...)`, `consulMembership(...)` or `pollMembership(...)`.
   */
  membership: readMembership as Field<Membership>,
  /**
   * How long after the members change an instance may still use the old ones: more than the membership's `ttlMs`.
   * Default: `ttlMs` plus a second.
   */
  graceMs: optional(wholeNumber(0, MAX_TIMER_MS, 'a whole number of milliseconds')) as Optional<number>,
  /** As for `memoryStore`, separately for clock windows and for everything else. Default `100_000`. */
  maxKeys: optional(valueThat<number>(() => true, '')) as Optional<number>, // checked by memoryStore
};

/** Every instance creates the limiters that use the store with the same numbers. */
export interface SplitStoreOptions extends Options<typeof SPLIT> {}

/** A store in the memory of each instance; the instances share their limits. */
export interface SplitStore extends Store {
  readonly source: 'split';
  perform(op: Op, asks: readonly Ask[]): Answer;
  checkPolicy(policy: Policy): void;
  /**
   * Resolves when this instance has its share of every limit created so far. For readiness checks. Long windows take
   * long, because a share begins with a window.
   *
   * @param timeoutMs - Rejects after this many milliseconds. Default 60 000.
   * @throws (rejects) PolicyError `SLUICE_OPTION_INVALID` for an invalid `timeoutMs`; StoreError.
   */
  ready(timeoutMs?: number): Promise<void>;
  /** Number of keys in memory. */
  readonly size: number;
  /** Leaves the membership. The other instances take over this share when their grace time ends. */
  close(): Promise<void>;
}

/** How often `ready` checks again. */
const READY_POLL_MS = 50;
const READY_TIMEOUT_MS = 60_000;
/** How many policies with different numbers `ready` waits for: limits may be created while the process runs. */
const MAX_EXPECTED = 1000;

/**
 * Enforces limits over several instances without calling a shared store: each live instance enforces its share of every
 * limit in its own memory, and the membership determines the share. However members come and go, all instances together
 * allow no more than the limit. For `fixedWindow` with `align: 'clock'`, `slidingWindow` and `tokenBucket`.
 *
 * A share shrinks at once, and grows only when no instance can still use the old one, so a new instance has no share at
 * first. An instance that the membership has lost has no share either: its decisions fail with
 * `SLUICE_SPLIT_UNCONFIRMED`, and `onStoreError` applies. See docs/guides/split.md.
 *
 * @throws PolicyError for a bad or unknown option.
 */
export function splitStore(options: SplitStoreOptions): SplitStore {
  return createSplitStore(options, localTime);
}

/** {@link splitStore} with other clocks than this process's. */
export function createSplitStore(options: SplitStoreOptions, local: LocalTime): SplitStore {
  const { membership, graceMs, maxKeys } = readOptions(options, SPLIT, 'splitStore');
  return new SharedLimits(membership, checkGrace(graceMs, membership), maxKeys, local);
}

/** Memberships that a store has joined. Each is one instance, so a second store would have the share twice. */
const joined = new WeakSet<Membership>();

/** An ask with this instance's share of its policy. */
interface OwnAsk extends Ask {
  readonly share: Share;
  readonly memory: MemoryStore;
  /** The ask as it came. */
  readonly whole: Ask;
}

class SharedLimits implements SplitStore {
  readonly source = 'split';
  readonly #membership: Membership;
  readonly #graceMs: number | undefined;
  readonly #local: LocalTime;
  readonly #clock: MembershipClock;
  /** Clock windows follow the membership's clock; everything else uses a clock that never jumps. */
  readonly #windows: MemoryStore;
  readonly #spans: MemoryStore;
  readonly #overlaps: Overlaps;
  #status: MembershipStatus | undefined;
  #isClosed = false;
  #shares = new WeakMap<Policy, { readonly version: number; readonly share: Share }>();
  /** The different policies of all limiters so far. */
  readonly #expected = new Map<string, Policy>();

  constructor(membership: Membership, graceMs: number | undefined, maxKeys: number | undefined, local: LocalTime) {
    this.#membership = membership;
    this.#graceMs = graceMs;
    this.#local = local;
    const clock = (this.#clock = new MembershipClock(local));
    this.#overlaps = new Overlaps(clock);
    this.#windows = memoryStore({ maxKeys, clock: { now: () => clock.earliestMs } });
    this.#spans = memoryStore({ maxKeys, clock: { now: () => clock.slowMs } });
  }

  get size(): number {
    return this.#windows.size + this.#spans.size;
  }

  checkPolicy(policy: Policy): void {
    checkSplittable(policy);
    this.#expect(policy);
    this.#isClosed = false;
    this.#join();
  }

  perform(op: Op, asks: readonly Ask[]): Answer {
    // A closed store joins again only when a new limiter uses it, not for a late request.
    if (this.#isClosed) throw unconfirmed('this instance has left the membership');
    const status = this.#join();
    const decides = op === 'take' || op === 'peek' || op === 'try';
    // Blocks, resets and settlements need no share.
    const isOfNow = decides || ((op === 'give' || op === 'charge') && asks.some(({ until = 0 }) => until === 0));
    if (isOfNow && !status.isConfirmed && !status.isStarting) throw status.unconfirmedError();
    this.#clock.read();
    this.#carryOver(status);
    const own = asks.map((ask) => this.#readOwn(ask, status));
    const figures = decides ? this.#decide(op, own) : own.map((ask) => this.#edit(op, ask));
    return { atMs: this.#clock.earliestMs, figures };
  }

  async ready(timeoutMs: number = READY_TIMEOUT_MS): Promise<void> {
    timerMs(timeoutMs, 'timeoutMs', 'SLUICE_OPTION_INVALID');
    const endMs = performance.now() + timeoutMs;
    const status = this.#join();
    for (;;) {
      this.#clock.read();
      const waitMs = this.#untilMember(status);
      if (waitMs <= 0) return;
      const leftMs = endMs - performance.now();
      if (leftMs <= 0 || status !== this.#status) {
        if (!status.isConfirmed) throw status.unconfirmedError();
        const when = `in ${String(Math.ceil(waitMs))} ms, after the ${String(timeoutMs)} ms of ready()`;
        throw new StoreError('SLUICE_STORE_TIMEOUT', `this instance has its share of the limits ${when}`);
      }
      await sleep(Math.min(waitMs, READY_POLL_MS, Math.max(leftMs, 1)));
    }
  }

  async close(): Promise<void> {
    const status = this.#status;
    this.#status = undefined;
    this.#isClosed = true;
    joined.delete(this.#membership);
    await status?.leave();
  }

  #join(): MembershipStatus {
    if (this.#status !== undefined) return this.#status;
    if (joined.has(this.#membership)) {
      throw new SluiceError(
        'SLUICE_OPTION_INVALID',
        'this membership is already used by another splitStore: share one splitStore among all limiters, or give each store a membership with its own group',
      );
    }
    joined.add(this.#membership);
    this.#shares = new WeakMap();
    return (this.#status = new MembershipStatus(this.#membership, this.#graceMs, this.#clock, this.#local));
  }

  #expect(policy: Policy): void {
    if (this.#expected.size < MAX_EXPECTED) this.#expected.set(describePolicy(policy), policy);
  }

  #untilMember(status: MembershipStatus): number {
    if (!status.isConfirmed) return Infinity;
    const instants = [...this.#expected.values()].map((policy) => findMemberTime(this.#readShare(policy, status)));
    return Math.max(...instants, -Infinity) - this.#clock.earliestMs;
  }

  #readOwn(ask: Ask, status: MembershipStatus): OwnAsk {
    const { key, cost, until } = ask;
    const due = this.#readShare(ask.policy, status);
    const memory = due.windowMs === undefined ? this.#spans : this.#windows;
    const units = memory.limitUntil(key, due.untilMs);
    const share = units < compile(due.policy).limit ? holdTo(units, due) : due;
    return { key, policy: share.policy, cost, until, share, memory, whole: ask };
  }

  /** This instance's current share of a policy: the same object until something it depends on changes. */
  #readShare(policy: Policy, { version, epochs, graceMs }: MembershipStatus): Share {
    const nowMs = this.#clock.earliestMs;
    const before = this.#shares.get(policy);
    if (before?.version === version && nowMs < before.share.untilMs) return before.share;
    try {
      checkSplittable(policy);
    } catch (error) {
      throw unconfirmed(getMessage(error).replace(/ \[\w+\]$/, '')); // the policy came from a function
    }
    const share = readShare(policy, epochs, graceMs, nowMs);
    this.#shares.set(policy, { version, share });
    if (before === undefined) this.#expect(policy);
    return share;
  }

  /**
   * Takes from all keys if all of them allow it, or from none. Each memory decides at its own instant, and nothing
   * happens in between.
   */
  #decide(op: Op, asks: readonly OwnAsk[]): readonly Figures[] {
    const fits = asks.map((ask) => this.#fitsNext(ask));
    const fitsAll = !fits.includes(false);
    const memories = [...new Set(asks.map(({ memory }) => memory))];
    const seen = new Map<OwnAsk, Figures>();
    const perform = (asked: Op, memory: MemoryStore): boolean => {
      const group = asks.filter((ask) => ask.memory === memory);
      const { figures } = memory.perform(asked, group);
      group.forEach((ask, i) => seen.set(ask, figures[i] as Figures));
      return figures.every((each) => each[ALLOWED] === 1);
    };
    const denied = fitsAll && memories.length === 1 ? [] : memories.filter((memory) => !perform('peek', memory));
    const isAllowed = denied.length === 0 && fitsAll;
    // A denial may start a block.
    const isTaken = (isAllowed ? memories : denied).map((memory) => perform(op, memory)).every(Boolean);
    if (op !== 'peek' && isAllowed && isTaken) for (const { whole, share } of asks) this.#overlaps.add(whole, share);
    return asks.map((ask, i) => this.#present(ask, seen.get(ask) as Figures, fits[i] === true));
  }

  /** @throws StoreError if the membership's clock is not known well enough for a window. */
  #fitsNext({ key, cost, share }: OwnAsk): boolean {
    const { windowMs } = share;
    const uncertainMs = this.#clock.latestMs - this.#clock.earliestMs;
    if (windowMs !== undefined && uncertainMs > windowMs / 2) {
      const known = `the membership's clock is known only to within ${String(uncertainMs)} ms`;
      const coarse = `too coarse for a window of ${String(windowMs)} ms`;
      throw unconfirmed(`${known}, which is ${coarse}: the membership replies slowly, or clocks have been set`);
    }
    return cost === 0 || cost <= this.#overlaps.leftInNext(key, share);
  }

  #edit(op: Op, ask: OwnAsk): Figures {
    const { key, cost, share, memory, whole, until = 0 } = ask;
    const { windowMs } = share;
    const asks: Ask[] = [ask];
    if (op === 'reset' || op === 'block') {
      if (op === 'reset' || cost > 0) this.#overlaps.forget(key);
      // Later, the key may have a policy of another kind.
      (memory === this.#windows ? this.#spans : this.#windows).perform(op, asks);
    } else if (windowMs === undefined) {
      if (until > 0) asks[0] = { ...ask, until: Math.max(until - this.#clock.aheadMs, 1) };
    } else if (until > 0) {
      // Units taken while their window may have ended are in two windows; the decision names the end of the second.
      asks.push({ ...ask, until: until - windowMs });
      this.#overlaps.change(key, until - windowMs, op === 'give' ? -cost : cost);
    } else if (op === 'give') this.#overlaps.change(key, share.untilMs, -cost);
    else this.#overlaps.add(whole, share);
    return memory.perform(op, asks).figures[0] as Figures;
  }

  /** Charges the windows that have certainly begun with what was taken while that was uncertain. */
  #carryOver(status: MembershipStatus): void {
    for (const { ask, endMs, units } of this.#overlaps.drain()) {
      const { policy, windowMs = 0 } = this.#readShare(ask.policy, status);
      if (this.#clock.earliestMs >= endMs + windowMs) continue;
      this.#windows.perform('charge', [{ key: ask.key, policy, cost: units }]);
    }
  }

  /** Turns the memory's answer into what clients see: units of the whole policy, and waits that are long enough. */
  #present({ key, cost, share }: OwnAsk, seen: Figures, fits: boolean): Figures {
    const { whole, next, windowMs = 0, untilMs } = share;
    const figures = [...seen] as number[] & Record<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7, number>;
    const nowMs = this.#clock.earliestMs;
    const waitFor = (units: number): number => {
      const atMs = findFitTime(share, units);
      return atMs === Infinity ? -1 : Math.max(atMs - nowMs, 1);
    };
    const left = this.#overlaps.leftInNext(key, share);
    figures[REMAINING] = Math.min(figures[REMAINING], left);
    figures[USED] = whole - figures[REMAINING];
    if (left < next) figures[RESET_AFTER] += windowMs;
    if (!fits) {
      figures[ALLOWED] = 0;
      figures[RETRY_AFTER] = cost > next ? -1 : Math.max(figures[RETRY_AFTER], untilMs + windowMs - nowMs);
    }
    if (figures[RETRY_AFTER] < 0) figures[RETRY_AFTER] = waitFor(cost);
    if (figures[NEXT_AFTER] < 0 && figures[REMAINING] === 0) figures[NEXT_AFTER] = waitFor(1);
    for (const place of [RETRY_AFTER, NEXT_AFTER] as const) {
      if (figures[place] > 0) figures[place] = this.#clock.longestWaitMs(figures[place]);
    }
    return figures;
  }
}

function unconfirmed(message: string): StoreError {
  return new StoreError('SLUICE_SPLIT_UNCONFIRMED', message, { sent: false });
}

function readMembership(given: unknown, field: string): Membership {
  const { id, ttlMs, join } = (given ?? {}) as Partial<Membership>;
  if (typeof id === 'string' && typeof ttlMs === 'number' && ttlMs > 0 && typeof join === 'function') {
    return given as Membership;
  }
  throw invalid(field, 'redisMembership(client, { prefix }), or an object with id, ttlMs and join', given);
}

function checkGrace(graceMs: number | undefined, { ttlMs }: Membership): number | undefined {
  if (graceMs === undefined || graceMs > ttlMs) return graceMs;
  const why = 'because an instance relies on its last confirmation for that long';
  throw invalid('graceMs', `more than the ttlMs of the membership, ${String(ttlMs)}, ${why}`, graceMs);
}
