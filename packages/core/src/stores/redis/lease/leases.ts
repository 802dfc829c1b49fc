import { DRIFT, type LocalTime } from '../../../platform/clock.ts';
import type { Decision } from '../../../engine/decision.ts';
import type { NamedPolicy } from '../../../engine/policy.ts';
import type { EditingRequest, Limit, Store } from '../../../engine/store.ts';
import { HotKeys } from './hot-keys.ts';
import { refilledIn } from '../../../engine/lease-policy.ts';
import { LeasedKey } from './leased-key.ts';
import { Slice, grantOf, type Moment, type GrantReply, type ShownPolicy } from './slice.ts';

/** The access of leases to their store. Nothing is sent twice. */
export interface LeasePort {
  /** Consumes as many of `count` units as fit. Rejects as stores do. */
  readonly request: (limit: Limit, subject: string, count: number) => Promise<GrantReply>;
  readonly giveBack: (requests: readonly EditingRequest[]) => Promise<unknown>;
  /** Receives work that continues without a caller. It never rejects. */
  readonly inBackground: (work: Promise<unknown>) => void;
  /** Units given back count if that is carried out within this time. */
  readonly timeoutMs: number;
}

/** The keys of one limit. */
interface LimitKeys {
  readonly hot: HotKeys;
  readonly keys: Map<string, LeasedKey>;
}

/** A slice lives for this many of the spans that it is measured for. */
const SPANS = 5;
/** A key without requests is dropped after this many spans. */
const IDLE_SPANS = 10;

const ofStores = new WeakMap<Store, Set<WeakRef<Leases>>>();

/** Drops what every limiter of this process holds of a key in a store. */
export function dropLeases(store: Store, subject: string, keySuffix: string): void {
  for (const leases of leasesOf(store)) leases.drop(subject, keySuffix);
}

/** Gives back what every limiter of this process holds of a key in a store: sent before the caller's next call. */
export function giveBackLeases(store: Store, subject: string, keySuffix: string): void {
  for (const leases of leasesOf(store)) leases.giveBack(subject, keySuffix);
}

function leasesOf(store: Store): readonly Leases[] {
  const refs = ofStores.get(store);
  if (refs === undefined) return [];
  return [...refs].flatMap((ref) => {
    const leases = ref.deref();
    if (leases === undefined) refs.delete(ref);
    return leases ?? [];
  });
}

/**
 * Slices of quotas: units of hot keys, consumed ahead in one call, and spent from memory. The store has counted
 * every spent unit before, in the window that it is spent in, so the limit holds over all processes; units not
 * spent in time are given back, where possible, or lost.
 */
export class Leases {
  readonly #port: LeasePort;
  readonly #time: LocalTime;
  readonly #maxAgeMs: number;
  readonly #spanMs: number;
  readonly #byLimit = new WeakMap<Limit, LimitKeys>();
  readonly #live = new Set<LeasedKey>();
  /** The last limit used: most limiters have one. */
  #limit: Limit | undefined;
  #keys: LimitKeys | undefined;
  #endSweep: (() => void) | undefined;
  #isClosed = false;
  /** Unregisters this object from edits. */
  readonly #leave: () => void;

  constructor(maxAgeMs: number, store: Store, port: LeasePort, time: LocalTime) {
    const all = ofStores.get(store) ?? new Set();
    const ref = new WeakRef(this);
    ofStores.set(store, all.add(ref));
    this.#leave = () => all.delete(ref);
    this.#port = port;
    this.#time = time;
    this.#maxAgeMs = maxAgeMs;
    this.#spanMs = maxAgeMs / SPANS;
  }

  /**
   * Allows from the held units of a key; undefined where they are not enough.
   *
   * @param op - A peek returns the same decision, and takes nothing.
   */
  consume(limit: Limit, subject: string, cost: number, op: 'consume' | 'peek' = 'consume'): Decision | undefined {
    const { keys } = limit === this.#limit ? (this.#keys as LimitKeys) : this.#keysOf(limit);
    const key = keys.get(subject);
    if (key?.current === undefined) return undefined;
    const nowMs = this.#time.monotonicMs();
    const dateMs = this.#time.dateMs();
    if (op === 'peek') return key.spendable(cost, nowMs, dateMs)?.decision(cost, nowMs);
    let slice = key.current;
    if (cost > slice.left || !slice.isLive(nowMs, dateMs)) {
      const other = this.#nextSlice(key, cost, nowMs, dateMs);
      if (other === undefined) return undefined;
      slice = other;
    }
    slice.left -= cost;
    if (slice.left <= slice.refreshAt) {
      slice.refreshAt = -1; // requested once: if that fails, the first request that is not served requests again
      this.#refresh(key, nowMs);
    }
    return slice.decision(cost, nowMs);
  }

  /** Records a request that the store decides: a key with many of them is leased. */
  recordMiss(limit: Limit, subject: string, cost: number): void {
    if (this.#isClosed) return;
    const { keys, hot } = limit === this.#limit ? (this.#keys as LimitKeys) : this.#keysOf(limit);
    const nowMs = this.#time.monotonicMs();
    let key = keys.get(subject);
    if (key === undefined) {
      if (!hot.count(subject, nowMs)) return;
      key = new LeasedKey(limit, subject, nowMs);
      keys.set(subject, key);
      this.#live.add(key);
      this.#endSweep ??= this.#time.after(this.#spanMs, this.#sweep);
    }
    key.addUnserved(cost);
    this.#refresh(key, nowMs);
  }

  /** Drops what is held of a key, and what is in flight, because the key is edited. */
  drop(subject: string, keySuffix: string): void {
    for (const key of this.#live) if (key.subject === subject && key.limit.keySuffix === keySuffix) this.#forget(key);
  }

  /** Gives back what is held of a key, which stays leased. */
  giveBack(subject: string, keySuffix: string): void {
    for (const key of this.#live)
      if (key.subject === subject && key.limit.keySuffix === keySuffix) this.#giveBackAll(key);
  }

  /** Gives back what is held. Grants in flight are given back on arrival. */
  close(): void {
    this.#isClosed = true;
    this.#endSweep?.();
    this.#endSweep = undefined;
    for (const key of this.#live) this.#giveBackAll(key);
    this.#live.clear();
    this.#leave();
  }

  #keysOf(limit: Limit): LimitKeys {
    let found = this.#byLimit.get(limit);
    if (found === undefined) {
      found = { hot: new HotKeys(this.#spanMs), keys: new Map() };
      this.#byLimit.set(limit, found);
    }
    this.#limit = limit;
    return (this.#keys = found);
  }

  /** A slice that holds this many units, when the current one does not. Gives back expired slices. */
  #nextSlice(key: LeasedKey, cost: number, nowMs: number, dateMs: number): Slice | undefined {
    if (key.next?.isLive(nowMs, dateMs) === false) {
      this.#giveBack(key, key.next, nowMs, dateMs);
      key.next = undefined;
    }
    if (key.current?.left === 0 || key.current?.isLive(nowMs, dateMs) === false) {
      this.#giveBack(key, key.current, nowMs, dateMs);
      key.shift();
    }
    return key.spendable(cost, nowMs, dateMs);
  }

  #refresh(key: LeasedKey, nowMs: number): void {
    const count = key.unitsToRequest(nowMs, this.#spanMs);
    if (count === 0) return;
    key.markRequested(nowMs);
    const requested = { monotonicMs: nowMs, dateMs: this.#time.dateMs() };
    this.#port.inBackground(
      this.#port.request(key.limit, key.subject, count).then(
        (reply) => {
          this.#receive(key, reply, count, requested);
        },
        () => {
          key.isRequesting = false;
          // The call may have been carried out: then its units are lost.
          key.restUntilMs = this.#time.monotonicMs() + this.#maxAgeMs;
        },
      ),
    );
  }

  #receive(key: LeasedKey, reply: GrantReply, count: number, requested: Moment): void {
    key.isRequesting = false;
    if (key.isDropped) return;
    const grant = grantOf(key.limit, reply.key, count, reply.atMs);
    key.learn(grant, reply);
    const nowMs = this.#time.monotonicMs();
    const dateMs = this.#time.dateMs();
    if (grant.units < count) key.restUntilMs = nowMs + this.#spanMs / 10;
    if (grant.units === 0) return;
    const slice = new Slice(grant, reply, requested, this.#maxAgeMs);
    if (this.#isClosed || !slice.isLive(nowMs, dateMs)) this.#giveBack(key, slice, nowMs, dateMs);
    else if (key.current === undefined) key.current = slice;
    else key.next = slice;
  }

  #giveBackAll(key: LeasedKey): void {
    const nowMs = this.#time.monotonicMs();
    const dateMs = this.#time.dateMs();
    while (key.current !== undefined) {
      this.#giveBack(key, key.current, nowMs, dateMs);
      key.shift();
    }
  }

  /**
   * Units of a window are given back while they count; units of a bucket less what it has refilled since, and may
   * refill on the way. A request that is delayed for longer, in a connection that hangs, has no effect.
   */
  #giveBack({ limit, subject }: LeasedKey, slice: Slice, nowMs: number, dateMs: number): void {
    const left = slice.takeBack();
    if (left === 0) return;
    const thereMs = slice.instantAt(nowMs);
    const heldMs = Math.ceil(slice.ageAt(nowMs, dateMs) * (1 + DRIFT)) + this.#port.timeoutMs + 1;
    const amounts = limit.policies.map((named: NamedPolicy) => Math.max(left - refilledIn(named, heldMs), 0));
    const requests = [...new Set(amounts)].flatMap((cost): readonly EditingRequest[] => {
      const chargedUntilMs = slice.shown.map(({ untilMs }: ShownPolicy, j) =>
        amounts[j] === cost && untilMs > thereMs ? untilMs : 0,
      );
      if (cost === 0 || chargedUntilMs.every((untilMs) => untilMs === 0)) return [];
      return [{ op: 'refund', part: { limit, subject, cost }, chargedUntilMs, byMs: thereMs + this.#port.timeoutMs }];
    });
    if (requests.length === 0) return;
    // A failed request is not repeated, because it may have been carried out.
    this.#port.inBackground(this.#port.giveBack(requests).catch(() => undefined));
  }

  #forget(key: LeasedKey): void {
    key.isDropped = true;
    key.current = key.next = undefined;
    this.#live.delete(key);
    this.#keysOf(key.limit).keys.delete(key.subject);
  }

  /** Gives back expired slices, and those of keys without requests. */
  readonly #sweep = (): void => {
    const nowMs = this.#time.monotonicMs();
    const dateMs = this.#time.dateMs();
    for (const key of this.#live) {
      this.#nextSlice(key, 0, nowMs, dateMs);
      if (key.demanded !== key.demandedAtSweep) {
        key.demandedAtSweep = key.demanded;
        key.idleSinceMs = nowMs;
      } else {
        this.#giveBackAll(key);
        if (!key.isRequesting && nowMs - key.idleSinceMs > IDLE_SPANS * this.#spanMs) this.#forget(key);
      }
    }
    this.#endSweep = this.#live.size === 0 || this.#isClosed ? undefined : this.#time.after(this.#spanMs, this.#sweep);
  };
}
