import type { Decision } from '../../decision.ts';
import type { NamedPolicy } from '../../policy.ts';
import { DRIFT } from '../local-clocks.ts';
import type { LocalTime } from '../split/heartbeats.ts';
import type { EditingRequest, Limit, Store } from '../store.ts';
import { HotKeys } from './hot-keys.ts';
import { refilledIn } from './lease-policy.ts';
import { LeasedKey } from './leased-key.ts';
import { Slice, grantOf, type Moment, type Run, type ShownPolicy } from './slice.ts';

/** How leases reach their store. What they send is never sent again. */
export interface LeasePort {
  /** Takes as many of `count` single units as fit. Rejects as stores do. */
  readonly run: (limit: Limit, subject: string, count: number) => Promise<Run>;
  readonly giveBack: (requests: readonly EditingRequest[]) => Promise<unknown>;
  /** Is told of work that goes on while nobody waits for it. It never rejects. */
  readonly inBackground: (work: Promise<unknown>) => void;
  /** What is given back counts if it is carried out within so long. */
  readonly timeoutMs: number;
}

/** The keys of one limit. */
interface LimitKeys {
  readonly hot: HotKeys;
  readonly keys: Map<string, LeasedKey>;
}

/** A slice lasts for so many times the span that it is measured for. */
const SPANS = 5;
/** A key that nobody asked for is forgotten after so many spans. */
const IDLE_SPANS = 10;

const ofStores = new WeakMap<Store, Set<WeakRef<Leases>>>();

/** Has everybody in this process let go of what is held of a key in a store. */
export function dropLeases(store: Store, subject: string, scope: string): void {
  const refs = ofStores.get(store);
  if (refs === undefined) return;
  for (const ref of refs) {
    const leases = ref.deref();
    if (leases === undefined) refs.delete(ref);
    else leases.drop(subject, scope);
  }
}

/**
 * Slices of quotas: units of keys that are asked for often, taken ahead in one call, and spent from memory. What is spent
 * was counted by the store before, in the window that it is spent in, so that the limit holds over all processes; what is
 * not spent in time is given back, where it can be, or lost.
 */
export class Leases {
  readonly #port: LeasePort;
  readonly #time: LocalTime;
  readonly #maxAgeMs: number;
  readonly #spanMs: number;
  readonly #byLimit = new WeakMap<Limit, LimitKeys>();
  readonly #live = new Set<LeasedKey>();
  /** The last limit that was looked up: most limiters have one. */
  #limit: Limit | undefined;
  #keys: LimitKeys | undefined;
  #endSweep: (() => void) | undefined;
  #isClosed = false;
  /** Is told of no more edits. */
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

  /** Admits from what is held of a key; undefined where that is not enough. */
  take(limit: Limit, subject: string, cost: number): Decision | undefined {
    const { keys } = limit === this.#limit ? (this.#keys as LimitKeys) : this.#look(limit);
    const key = keys.get(subject);
    if (key?.current === undefined) return undefined;
    const nowMs = this.#time.monotonicMs();
    const dateMs = this.#time.dateMs();
    let slice = key.current;
    if (cost > slice.left || !slice.isLive(nowMs, dateMs)) {
      const other = this.#other(key, cost, nowMs, dateMs);
      if (other === undefined) return undefined;
      slice = other;
    }
    slice.left -= cost;
    if (slice.left <= slice.refreshAt) {
      slice.refreshAt = -1; // asked once: when that comes to nothing, the first request that is not served asks again
      this.#refresh(key, nowMs);
    }
    return slice.decision(cost, nowMs);
  }

  /** What {@link take} would answer, with nothing taken. */
  peek(limit: Limit, subject: string, cost: number): Decision | undefined {
    const key = this.#look(limit).keys.get(subject);
    if (key === undefined) return undefined;
    const nowMs = this.#time.monotonicMs();
    const dateMs = this.#time.dateMs();
    for (const slice of [key.current, key.next]) {
      if (slice !== undefined && cost <= slice.left && slice.isLive(nowMs, dateMs)) return slice.decision(cost, nowMs);
    }
    return undefined;
  }

  /** Hears of a request that is decided by the store: a key that has many of them is leased. */
  note(limit: Limit, subject: string, cost: number): void {
    if (this.#isClosed) return;
    const { keys, hot } = limit === this.#limit ? (this.#keys as LimitKeys) : this.#look(limit);
    const nowMs = this.#time.monotonicMs();
    let key = keys.get(subject);
    if (key === undefined) {
      if (!hot.note(subject, nowMs)) return;
      key = new LeasedKey(limit, subject, nowMs);
      keys.set(subject, key);
      this.#live.add(key);
      this.#endSweep ??= this.#time.after(this.#spanMs, this.#sweep);
    }
    key.noteUnserved(cost);
    this.#refresh(key, nowMs);
  }

  /** Lets go of what is held of a key, and of what is on its way: somebody changes it from outside. */
  drop(subject: string, scope: string): void {
    for (const key of this.#live) if (key.subject === subject && key.limit.scope === scope) this.#forget(key);
  }

  /** Gives back what is held; what is on its way is given back when it arrives. */
  close(): void {
    this.#isClosed = true;
    this.#endSweep?.();
    this.#endSweep = undefined;
    for (const key of this.#live) this.#giveBackAll(key);
    this.#live.clear();
    this.#leave();
  }

  #look(limit: Limit): LimitKeys {
    let found = this.#byLimit.get(limit);
    if (found === undefined) {
      found = { hot: new HotKeys(this.#spanMs), keys: new Map() };
      this.#byLimit.set(limit, found);
    }
    this.#limit = limit;
    return (this.#keys = found);
  }

  /** A slice that holds so much, when the first one does not. Slices that are over are given back. */
  #other(key: LeasedKey, cost: number, nowMs: number, dateMs: number): Slice | undefined {
    if (key.next?.isLive(nowMs, dateMs) === false) {
      this.#giveBack(key, key.next, nowMs, dateMs);
      key.next = undefined;
    }
    if (key.current?.left === 0 || key.current?.isLive(nowMs, dateMs) === false) {
      this.#giveBack(key, key.current, nowMs, dateMs);
      key.shift();
    }
    for (const slice of [key.current, key.next]) if (slice !== undefined && cost <= slice.left) return slice;
    return undefined;
  }

  #refresh(key: LeasedKey, nowMs: number): void {
    const count = key.wanted(nowMs, this.#spanMs);
    if (count === 0) return;
    key.asks(nowMs);
    const asked = { monotonicMs: nowMs, dateMs: this.#time.dateMs() };
    this.#port.inBackground(
      this.#port.run(key.limit, key.subject, count).then(
        (run) => {
          this.#receive(key, run, count, asked);
        },
        () => {
          key.isAsking = false;
          // It may have been carried out all the same: then those units are lost.
          key.restUntilMs = this.#time.monotonicMs() + this.#maxAgeMs;
        },
      ),
    );
  }

  #receive(key: LeasedKey, run: Run, count: number, asked: Moment): void {
    key.isAsking = false;
    if (key.isDropped) return;
    const grant = grantOf(key.limit, run.key, count, run.atMs);
    key.learn(grant, run);
    const nowMs = this.#time.monotonicMs();
    const dateMs = this.#time.dateMs();
    if (grant.units < count) key.restUntilMs = nowMs + this.#spanMs / 10;
    if (grant.units === 0) return;
    const slice = new Slice(grant, run, asked, this.#maxAgeMs);
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
   * What was taken of a window goes back to it while it counts; what was taken of a bucket, less what that has refilled since
   * and may refill on the way. What is held up for longer, in a connection that hangs, comes to nothing.
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
    // What fails is lost, for it may have been carried out.
    this.#port.inBackground(this.#port.giveBack(requests).catch(() => undefined));
  }

  #forget(key: LeasedKey): void {
    key.isDropped = true;
    key.current = key.next = undefined;
    this.#live.delete(key);
    this.#look(key.limit).keys.delete(key.subject);
  }

  /** Gives back what is over, and what nobody asks for any more. */
  readonly #sweep = (): void => {
    const nowMs = this.#time.monotonicMs();
    const dateMs = this.#time.dateMs();
    for (const key of this.#live) {
      this.#other(key, 0, nowMs, dateMs);
      if (key.demanded !== key.seen) {
        key.seen = key.demanded;
        key.idleSinceMs = nowMs;
      } else {
        this.#giveBackAll(key);
        if (!key.isAsking && nowMs - key.idleSinceMs > IDLE_SPANS * this.#spanMs) this.#forget(key);
      }
    }
    this.#endSweep = this.#live.size === 0 || this.#isClosed ? undefined : this.#time.after(this.#spanMs, this.#sweep);
  };
}
