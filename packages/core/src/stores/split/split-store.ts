import { setTimeout as sleep } from 'node:timers/promises';
import { PolicyError, StoreError } from '../../errors.ts';
import { checkOptions } from '../../options.ts';
import type { NamedPolicy } from '../../policy.ts';
import { checkTimeout } from '../deadline.ts';
import { memoryStore, type MemoryStore } from '../memory/memory-store.ts';
import type { Limit, Part, Store, StoreAnswer, StoreRequest } from '../store.ts';
import { Editions } from './editions.ts';
import { DRIFT, localClocks, type LocalClocks } from '../local-clocks.ts';
import { MembershipClock } from './membership-clock.ts';
import type { Membership } from './membership.ts';
import { checkGrace, checkMembership } from './split-options.ts';
import { checkSplittable, shareOf, untilMemberMs, type Share } from './split-policy.ts';
import { Standing } from './standing.ts';
import { tell, warnOfNothing } from './told.ts';

/**
 * Options of {@link splitStore}. What is split are the limits of the limiters that it is given to: every instance makes
 * them with the same numbers.
 */
export interface SplitStoreOptions {
  /** Who shares the limits: `redisMembership(...)`, `fixedMembership(...)`, a registry of yours, or so many equals. */
  membership: Membership | number;
  /**
   * How long after members have changed somebody may still act by what was before: longer than the membership's time to
   * live. Default: that, and a second; none where the members never change.
   */
  graceMs?: number;
  /** As for `memoryStore`. */
  maxKeys?: number;
}

/** A store in the memory of each of several instances, which share the limits among them. */
export interface SplitStore extends Store {
  readonly source: 'split';
  perform(requests: readonly StoreRequest[]): readonly StoreAnswer[];
  checkLimit(limit: Limit): void;
  /**
   * Resolves when this instance has been a member for as long as it takes to have a share of every limit that was asked
   * for so far: for readiness checks. With long windows that is long: a share begins with a window.
   *
   * @param timeoutMs - Rejects after so many milliseconds. Default 60 000.
   * @throws (rejects) PolicyError `SLUICE_OPTION_INVALID` for what is no such number; StoreError.
   */
  ready(timeoutMs?: number): Promise<void>;
  /** Keys held at present. */
  readonly size: number;
  /** Leaves the membership: others take over when their grace time is over. */
  close(): Promise<void>;
}

/** How often `ready` looks again. */
const LOOK_EVERY_MS = 50;
const READY_WITHIN_MS = 60_000;
/** Limits made while the process runs, from other numbers each, are remembered up to here, for `ready`. */
const MOST_EXPECTED = 1000;

/**
 * Limits without a shared store on the path of a request: each live instance enforces its share of every limit in its own
 * memory, and the membership says what its share is. However members come and go, all instances together admit no more
 * than the limit. For `fixedWindow` with `align: 'clock'`, `slidingWindow` and `tokenBucket`.
 *
 * A share shrinks at once, and grows when nobody can act by the old one any more: a new instance has none at first. One
 * that the membership has lost has none either, and fails with `SLUICE_SPLIT_UNCONFIRMED`: `onStoreError` decides then.
 * See docs/guides/split.md.
 *
 * @throws PolicyError for a bad or unknown option.
 */
export function splitStore(options: SplitStoreOptions): SplitStore {
  return createSplitStore(options, localClocks);
}

/** {@link splitStore} by other clocks than this process's. */
export function createSplitStore(options: SplitStoreOptions, local: LocalClocks): SplitStore {
  checkOptions(options, ['membership', 'graceMs', 'maxKeys'], 'splitStore');
  const { membership, graceMs, maxKeys } = options;
  checkMembership(membership);
  if (graceMs !== undefined) checkGrace(graceMs, typeof membership === 'number' ? Infinity : membership.ttlMs);
  return new SharingStore(membership, graceMs, maxKeys, local);
}

/** A limit as this instance counts it at present. */
interface Counted {
  readonly limit: Limit;
  readonly shares: readonly Share[];
  readonly standing: Standing;
  readonly knownVersion: number;
  /** Where there are windows on the membership's clock. */
  readonly aheadMs: number | undefined;
  readonly graceMs: number;
  readonly untilEarliestMs: number;
  readonly untilLatestMs: number;
}

class SharingStore implements SplitStore {
  readonly source = 'split';
  /** It answers at once, and what it fails by is asked at every decision. */
  readonly breaker = false;
  readonly #membership: Membership | number;
  readonly #givenGraceMs: number | undefined;
  readonly #local: LocalClocks;
  readonly #clock: MembershipClock;
  readonly #memory: MemoryStore;
  #standing: Standing | undefined;
  #isClosed = false;
  readonly #counted = new WeakMap<Limit, Counted>();
  readonly #sharesOf = (limit: Limit): readonly Share[] => this.#counted.get(limit)?.shares ?? [];
  /** By scope. */
  readonly #editions = new Map<string, Editions>();
  /** The different policies that were asked for. */
  readonly #expected = new Map<string, NamedPolicy>();

  constructor(
    membership: Membership | number,
    graceMs: number | undefined,
    maxKeys: number | undefined,
    local: LocalClocks,
  ) {
    this.#membership = membership;
    this.#givenGraceMs = graceMs;
    this.#local = local;
    const neverChanges = typeof membership === 'number' || membership.ttlMs === Infinity;
    this.#clock = new MembershipClock(local, neverChanges ? 0 : DRIFT);
    const clock = (): number => this.#clock.slowMs;
    this.#memory = memoryStore(maxKeys === undefined ? { clock } : { clock, maxKeys });
  }

  get size(): number {
    return this.#memory.size;
  }

  checkLimit({ policies, escalation }: Limit): void {
    if (escalation !== undefined) {
      throw new PolicyError(
        'escalate',
        'splitStore cannot escalate: each instance would count refusals, and block, for itself alone; leave escalate out, or keep this limit in redisStore',
        'SLUICE_OPTION_INVALID',
      );
    }
    for (const named of policies) {
      checkSplittable(named);
      if (this.#expected.size >= MOST_EXPECTED) continue;
      this.#expected.set(`${named.policy.algorithm} ${named.algorithm.numbers(named.policy).join(' ')}`, named);
    }
    this.#isClosed = false;
    this.#join();
  }

  perform(requests: readonly StoreRequest[]): readonly StoreAnswer[] {
    // Only a limiter that is made joins again: what comes late is no reason to.
    if (this.#isClosed) throw new StoreError('SLUICE_SPLIT_UNCONFIRMED', 'this instance has left the membership');
    const standing = this.#join();
    this.#clock.read();
    const answers = this.#memory.perform(requests.map((request) => this.#ownRequest(request, standing)));
    requests.forEach((request, i) => {
      if ('parts' in request) tell(request.parts, answers[i] as StoreAnswer, this.#sharesOf, this.#clock);
    });
    return answers;
  }

  async ready(timeoutMs: number = READY_WITHIN_MS): Promise<void> {
    checkTimeout(timeoutMs);
    const endMs = performance.now() + timeoutMs;
    const standing = this.#join();
    for (;;) {
      this.#clock.read();
      const waitMs = this.#untilMemberMs(standing);
      if (waitMs <= 0) return;
      const leftMs = endMs - performance.now();
      if (leftMs <= 0 || standing !== this.#standing) {
        if (!standing.isConfirmed) throw standing.unconfirmed();
        throw new StoreError(
          'SLUICE_STORE_TIMEOUT',
          `this instance has its share of the limits in ${String(Math.ceil(waitMs))} ms, later than within the ${String(timeoutMs)} ms that ready was given`,
        );
      }
      await sleep(Math.min(waitMs, LOOK_EVERY_MS, Math.max(leftMs, 1)));
    }
  }

  async close(): Promise<void> {
    const standing = this.#standing;
    this.#standing = undefined;
    this.#isClosed = true;
    await standing?.leave();
  }

  #join(): Standing {
    this.#standing ??= new Standing(this.#membership, this.#givenGraceMs, this.#clock, this.#local);
    return this.#standing;
  }

  #untilMemberMs(standing: Standing): number {
    if (!standing.isConfirmed) return Infinity;
    const grounds = { epochs: standing.epochs, clock: this.#clock, graceMs: standing.graceMs };
    let longestMs = 0;
    for (const named of this.#expected.values()) longestMs = Math.max(longestMs, untilMemberMs(named, grounds));
    return longestMs;
  }

  /** The request as this instance counts it. */
  #ownRequest(request: StoreRequest, standing: Standing): StoreRequest {
    if (!('parts' in request)) return this.#ownEdit(request);
    if (!standing.isConfirmed && !standing.isStarting) throw standing.unconfirmed();
    const parts = request.parts.map(({ limit, subject, cost }): Part => {
      return { limit: this.#count(limit, standing).limit, subject, cost };
    });
    return { ...request, parts };
  }

  /** Nobody needs a share to block a key, or to give back. */
  #ownEdit(request: Exclude<StoreRequest, { readonly parts: unknown }>): StoreRequest {
    const { part } = request;
    const limit = this.#counted.get(part.limit)?.limit ?? part.limit;
    const own = { ...request, part: { ...part, limit } };
    if (own.op !== 'refund' && own.op !== 'charge') return own;
    // Windows are known by when they end on the membership's clock, which has been read better since, maybe: what it is
    // ahead has grown, seldom fallen a little.
    const chargedUntilMs = own.chargedUntilMs.map((atMs, j) => {
      const { policy, windowMs } = part.limit.policies[j] as NamedPolicy;
      if (policy.algorithm !== 'fixedWindow') return atMs;
      return Math.floor((atMs + this.#clock.aheadMs) / windowMs + 0.25) * windowMs;
    });
    return { ...own, chargedUntilMs };
  }

  /** The limit as it is counted now: as before, until something has changed that it depends on. */
  #count(limit: Limit, standing: Standing): Counted {
    const clock = this.#clock;
    const before = this.#counted.get(limit);
    if (
      before?.standing === standing &&
      before.knownVersion === standing.epochs.version &&
      (before.aheadMs === undefined || before.aheadMs === clock.aheadMs) &&
      clock.earliestMs < before.untilEarliestMs &&
      clock.latestMs < before.untilLatestMs &&
      before.graceMs === standing.graceMs
    ) {
      return before;
    }
    const counted = this.#countAnew(limit, standing, before);
    this.#counted.set(limit, counted);
    return counted;
  }

  #countAnew(limit: Limit, standing: Standing, before: Counted | undefined): Counted {
    const { epochs, graceMs } = standing;
    const clock = this.#clock;
    const shares = limit.policies.map((named, j) => {
      if (named.policy.algorithm === 'fixedWindow' && clock.latestMs - clock.earliestMs > named.windowMs / 2) {
        throw new StoreError(
          'SLUICE_SPLIT_UNCONFIRMED',
          `the membership's clock is known to ${String(clock.latestMs - clock.earliestMs)} ms, which is too coarse for the window of ${String(named.windowMs)} ms of ${named.name}: the membership answers slowly, or clocks have been set`,
        );
      }
      return shareOf(named, { epochs, clock, graceMs }, before?.shares[j]);
    });
    const editions = this.#editionsOf(limit);
    const policies = shares.map(({ named }) => named);
    warnOfNothing(limit, shares, epochs.latest);
    return {
      limit:
        editions === undefined
          ? { policies, scope: limit.scope }
          : { policies, scope: limit.scope, edition: editions.of(shares.map(({ open }) => open)) },
      shares,
      standing,
      knownVersion: epochs.version,
      aheadMs: limit.policies.some(({ policy }) => policy.algorithm === 'fixedWindow') ? clock.aheadMs : undefined,
      graceMs,
      untilEarliestMs: Math.min(...shares.map((share) => share.untilEarliestMs)),
      untilLatestMs: Math.min(...shares.map((share) => share.untilLatestMs)),
    };
  }

  /** Only the states of buckets depend on the share that wrote them. */
  #editionsOf({ scope, policies }: Limit): Editions | undefined {
    if (!policies.some(({ policy }) => policy.algorithm === 'tokenBucket')) return undefined;
    let editions = this.#editions.get(scope);
    if (editions === undefined) this.#editions.set(scope, (editions = new Editions()));
    return editions;
  }
}
