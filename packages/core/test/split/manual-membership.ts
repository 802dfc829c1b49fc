import { Machine, VirtualTime } from '@sluice/testkit';
import { createLimiter, type Limiter, type Policy, type PolicyFunction } from '../../src/index.ts';
import type { Confirmation, Membership, Members } from '../../src/split/membership/membership.ts';
import { createSplitStore, type SplitStore } from '../../src/split/split-store.ts';

/** A split store whose clock and membership a test controls. */
export class ManualMembership implements Membership {
  readonly id = 'me';
  readonly ttlMs = 3000;
  readonly time: VirtualTime = new VirtualTime(1_795_262_400_000); // noon, UTC
  readonly #machine = new Machine(this.time, { rate: 1, dateOffsetMs: 0 });
  readonly store: SplitStore = createSplitStore({ membership: this, graceMs: 4000 }, this.#machine);
  /** How often the store has joined and left. */
  joined = 0;
  left = 0;
  #joinedAtMs = 0;
  #members: Members = {};
  #changes = 0;
  #changedAtMs = 0;
  #confirmed: (confirmation: Confirmation) => void = () => undefined;
  #failed: (error: unknown) => void = () => undefined;

  limiter(policy: Policy | readonly Policy[] | PolicyFunction, name = 'by-hand'): Limiter {
    return createLimiter({ name, policy, store: this.store, onStoreError: 'throw' });
  }

  pass(ms: number): void {
    this.time.nowMs += ms;
  }

  /** The registry replies, with members if they have changed. Its clock is exact, unless the answer took `latencyMs`. */
  confirm(members?: Members, latencyMs = 0): void {
    const { nowMs } = this.time;
    if (members !== undefined) {
      this.#changes++;
      this.#changedAtMs = nowMs;
      if (!('me' in members) || !('me' in this.#members)) this.#joinedAtMs = nowMs;
      this.#members = members;
    }
    this.#confirmed({
      askedAtMs: this.#machine.monotonicMs() - latencyMs,
      askedAtDateMs: nowMs - latencyMs,
      members: this.#members,
      time: {
        atMs: Math.floor(nowMs - latencyMs / 2),
        joinedAtMs: this.#joinedAtMs,
        changes: this.#changes,
        fromMs: Math.floor(this.#changedAtMs),
        longestTtlMs: this.ttlMs,
      },
    });
  }

  /** The registry replies without time and history. */
  confirmUntimed(members: Members): void {
    this.#confirmed({ members, askedAtMs: this.#machine.monotonicMs(), askedAtDateMs: this.time.nowMs });
  }

  fail(error: unknown): void {
    this.#failed(error);
  }

  /** Lets time pass, while the registry replies every second. */
  live(ms: number, latencyMs = 0): void {
    for (let left = ms; left > 0; left -= 1000) {
      this.pass(Math.min(left, 1000));
      this.confirm(undefined, latencyMs);
    }
  }

  join(confirmed: (confirmation: Confirmation) => void, failed: (error: unknown) => void): () => void {
    this.joined++;
    this.#members = {};
    this.#confirmed = confirmed;
    this.#failed = failed;
    return () => {
      this.left++;
    };
  }
}

/** Long after it joined. */
export function settled(members: Members, latencyMs = 0): ManualMembership {
  const hand = new ManualMembership();
  hand.store.perform('peek', []); // joins
  hand.confirm(members, latencyMs);
  hand.live(3_600_000, latencyMs);
  return hand;
}

/** Consumes one unit after the other until one is denied. */
export async function allowedBy(limiter: Limiter, key = 'key'): Promise<number> {
  let allowed = 0;
  while ((await limiter.consume(key)).allowed) allowed++;
  return allowed;
}
