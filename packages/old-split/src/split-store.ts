import { setTimeout as sleep } from 'node:timers/promises';
import { DRIFT, localClocks, type LocalClocks, readOptions, type SettlingRequest, timerMs } from '@sluice/old-core/spi';
import {
  PolicyError,
  StoreError,
  customStore,
  type NamedPolicy,
  memoryStore,
  type MemoryStore,
  type Limit,
  type Part,
  type Store,
  type StoreAnswer,
  type StoreRequest,
} from '@sluice/old-core';
import { PolicyVersions } from './shares/policy-versions.ts';
import { MembershipClock } from './membership/membership-clock.ts';
import type { Membership } from './membership/membership.ts';
import { SPLIT_STORE, type SplitStoreOptions } from './options.ts';
import {
  checkSplittable,
  hasWindowsOnTheClock,
  shareOf,
  statesDependOnShare,
  untilMemberMs,
  type Share,
} from './shares/split-policy.ts';
import { MembershipStatus } from './membership-status.ts';
import { present, warnOfZeroShares } from './shares/present.ts';

/** A store in the memory of each of several instances that share their limits. */
export interface SplitStore extends Store {
  readonly source: 'split';
  perform(requests: readonly StoreRequest[]): readonly StoreAnswer[];
  checkLimit(limit: Limit): void;
  /**
   * Resolves when this instance has its share of every limit of the limiters created so far. For readiness checks.
   * Long windows take long, because a share begins with a window.
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
/** Policies with different numbers that `ready` waits for, at most: limits may be created while the process runs. */
const MOST_EXPECTED = 1000;

/**
 * Enforces limits over several instances without a shared store on the path of a request: each live instance enforces
 * its share of every limit in its own memory, and the membership determines the share. However members come and go,
 * all instances together allow no more than the limit. For `fixedWindow` with `align: 'clock'`, `slidingWindow` and
 * `tokenBucket`.
 *
 * A share shrinks at once, and grows when no instance can act by the old one any more, so a new instance has no share
 * at first. An instance that the membership has lost has no share either: its decisions fail with
 * `SLUICE_SPLIT_UNCONFIRMED`, and `onStoreError` applies. See docs/guides/split.md.
 *
 * @throws PolicyError for a bad or unknown option.
 */
export function splitStore(options: SplitStoreOptions): SplitStore {
  return createSplitStore(options, localClocks);
}

/** {@link splitStore} with clocks other than those of this process. */
export function createSplitStore(options: SplitStoreOptions, local: LocalClocks): SplitStore {
  const { membership, graceMs, maxKeys } = readOptions(options, SPLIT_STORE, 'splitStore');
  return customStore(new SplitStoreImpl(membership, graceMs, maxKeys, local));
}

/** A limit as this instance counts it now. */
interface CountedLimit {
  readonly limit: Limit;
  readonly shares: readonly Share[];
  readonly status: MembershipStatus;
  readonly knownVersion: number;
  /** Set where windows follow the membership's clock. */
  readonly aheadMs: number | undefined;
  readonly graceMs: number;
  readonly untilEarliestMs: number;
  readonly untilLatestMs: number;
}

class SplitStoreImpl implements SplitStore {
  readonly source = 'split';
  /** The store returns at once and checks the membership at every decision, so a breaker is of no use. */
  readonly breaker = false;
  readonly #membership: Membership | number;
  readonly #graceMs: number | undefined;
  readonly #local: LocalClocks;
  readonly #clock: MembershipClock;
  readonly #memory: MemoryStore;
  #status: MembershipStatus | undefined;
  #isClosed = false;
  readonly #counted = new WeakMap<Limit, CountedLimit>();
  readonly #sharesOf = (limit: Limit): readonly Share[] => this.#counted.get(limit)?.shares ?? [];
  /** By key suffix. */
  readonly #policyVersions = new Map<string, PolicyVersions>();
  /** The different policies of all limiters so far. */
  readonly #expected = new Map<string, NamedPolicy>();

  constructor(
    membership: Membership | number,
    graceMs: number | undefined,
    maxKeys: number | undefined,
    local: LocalClocks,
  ) {
    this.#membership = membership;
    this.#graceMs = graceMs;
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
        'splitStore does not support escalate, because each instance would count denials and block on its own; leave escalate out, or keep this limit in redisStore',
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
    // A closed store joins again only when a new limiter uses it, not for a late request.
    if (this.#isClosed) throw new StoreError('SLUICE_SPLIT_UNCONFIRMED', 'this instance has left the membership');
    const status = this.#join();
    this.#clock.read();
    const answers = this.#memory.perform(requests.map((request) => this.#ownRequest(request, status)));
    return answers.map((answer, i) => {
      const request = requests[i] as StoreRequest;
      return 'parts' in request ? present(answer, request.parts, this.#sharesOf, this.#clock) : answer;
    });
  }

  async ready(timeoutMs: number = READY_TIMEOUT_MS): Promise<void> {
    timerMs()(timeoutMs, 'timeoutMs');
    const endMs = performance.now() + timeoutMs;
    const status = this.#join();
    for (;;) {
      this.#clock.read();
      const waitMs = this.#untilMemberMs(status);
      if (waitMs <= 0) return;
      const leftMs = endMs - performance.now();
      if (leftMs <= 0 || status !== this.#status) {
        if (!status.isConfirmed) throw status.unconfirmedError();
        throw new StoreError(
          'SLUICE_STORE_TIMEOUT',
          `this instance has its share of the limits in ${String(Math.ceil(waitMs))} ms, after the ${String(timeoutMs)} ms of ready()`,
        );
      }
      await sleep(Math.min(waitMs, READY_POLL_MS, Math.max(leftMs, 1)));
    }
  }

  async close(): Promise<void> {
    const status = this.#status;
    this.#status = undefined;
    this.#isClosed = true;
    await status?.leave();
  }

  #join(): MembershipStatus {
    this.#status ??= new MembershipStatus(this.#membership, this.#graceMs, this.#clock, this.#local);
    return this.#status;
  }

  #untilMemberMs(status: MembershipStatus): number {
    if (!status.isConfirmed) return Infinity;
    const inputs = { epochs: status.epochs, clock: this.#clock, graceMs: status.graceMs, isChanging: false };
    let longestMs = 0;
    for (const named of this.#expected.values()) longestMs = Math.max(longestMs, untilMemberMs(named, inputs));
    return longestMs;
  }

  /** The request with the limits as this instance counts them. */
  #ownRequest(request: StoreRequest, status: MembershipStatus): StoreRequest {
    const isOfKey = (request.op === 'refund' || request.op === 'charge') && request.chargedUntilMs === undefined;
    if (isOfKey) return this.#ownUnits(request, status);
    if (!('parts' in request)) return this.#ownEdit(request);
    if (!status.isConfirmed && !status.isStarting) throw status.unconfirmedError();
    const parts = request.parts.map(({ limit, subject, cost }): Part => {
      return { limit: this.#countedLimit(limit, status).limit, subject, cost };
    });
    return { ...request, parts };
  }

  /** Refunds and charges of no decision go to the windows of now. */
  #ownUnits(request: SettlingRequest, status: MembershipStatus): StoreRequest {
    if (!status.isConfirmed && !status.isStarting) throw status.unconfirmedError();
    const { part } = request;
    return { ...request, part: { ...part, limit: this.#countedLimit(part.limit, status).limit } };
  }

  /** Blocks, resets and refunds need no share. */
  #ownEdit(request: Exclude<StoreRequest, { readonly parts: unknown }>): StoreRequest {
    const { part } = request;
    const versions = this.#policyVersions.get(part.limit.keySuffix);
    const settling = versions?.settling(part.limit) ?? part.limit;
    const own = { ...request, part: { ...part, limit: this.#counted.get(settling)?.limit ?? part.limit } };
    if ((own.op !== 'refund' && own.op !== 'charge') || own.chargedUntilMs === undefined) return own;
    if (versions?.isForgotten(part.limit) === true) return { ...own, part: { ...own.part, cost: 0 } };
    // Windows are identified by their end on the membership's clock. A better reading may have arrived since the
    // decision, so `aheadMs` may have grown, or rarely fallen a little.
    const chargedUntilMs = own.chargedUntilMs.map((atMs, j) => {
      const named = part.limit.policies[j] as NamedPolicy;
      if (!hasWindowsOnTheClock(named)) return atMs;
      return Math.floor((atMs + this.#clock.aheadMs) / named.windowMs + 0.25) * named.windowMs;
    });
    return { ...own, chargedUntilMs };
  }

  /** The limit as it is counted now: the same object until something changes that it depends on. */
  #countedLimit(limit: Limit, status: MembershipStatus): CountedLimit {
    const clock = this.#clock;
    const before = this.#counted.get(limit);
    if (
      before?.status === status &&
      before.knownVersion === status.epochs.version &&
      (before.aheadMs === undefined || before.aheadMs === clock.aheadMs) &&
      clock.earliestMs < before.untilEarliestMs &&
      clock.latestMs < before.untilLatestMs &&
      before.graceMs === status.graceMs
    ) {
      return before;
    }
    const counted = this.#makeCountedLimit(limit, status, before);
    this.#counted.set(limit, counted);
    return counted;
  }

  #makeCountedLimit(limit: Limit, status: MembershipStatus, before: CountedLimit | undefined): CountedLimit {
    const { epochs, graceMs } = status;
    const clock = this.#clock;
    const isChanging = limit.policyVersion !== undefined;
    const policyVersions = this.#policyVersionsOf(limit);
    policyVersions?.follow(limit);
    const shares = limit.policies.map((named, j) => {
      if (hasWindowsOnTheClock(named) && clock.latestMs - clock.earliestMs > named.windowMs / 2) {
        throw new StoreError(
          'SLUICE_SPLIT_UNCONFIRMED',
          `the membership's clock is known only to within ${String(clock.latestMs - clock.earliestMs)} ms, which is too coarse for the window of ${String(named.windowMs)} ms of ${named.name}: the membership replies slowly, or clocks have been set`,
        );
      }
      return shareOf(named, { epochs, clock, graceMs, isChanging }, before?.shares[j]);
    });
    const policies = shares.map(({ named }) => named);
    warnOfZeroShares(limit, shares, epochs.latest);
    return {
      limit:
        policyVersions === undefined
          ? { policies, keySuffix: limit.keySuffix }
          : {
              policies,
              keySuffix: limit.keySuffix,
              policyVersion: policyVersions.versionOf(
                shares.map(({ lastOpen }) => lastOpen),
                limit.policies,
              ),
            },
      shares,
      status,
      knownVersion: epochs.version,
      aheadMs: limit.policies.some(hasWindowsOnTheClock) ? clock.aheadMs : undefined,
      graceMs,
      untilEarliestMs: Math.min(...shares.map((share) => share.untilEarliestMs)),
      untilLatestMs: Math.min(...shares.map((share) => share.untilLatestMs)),
    };
  }

  /** The versions of a limit that changes, or whose states depend on the share that wrote them; undefined for others. */
  #policyVersionsOf({ keySuffix, policies, policyVersion }: Limit): PolicyVersions | undefined {
    if (policyVersion === undefined && !policies.some(statesDependOnShare)) return undefined;
    let policyVersions = this.#policyVersions.get(keySuffix);
    if (policyVersions === undefined) this.#policyVersions.set(keySuffix, (policyVersions = new PolicyVersions()));
    return policyVersions;
  }
}
