import { fixedWindow, memoryStore, slidingWindow, tokenBucket, type Decision, type Policy } from '@sluice/core';
import { Leases, type LeasePort } from '../../../../../src/stores/redis/lease/leases.ts';
import { encodeSubject, evaluate, keySuffixOf, namePolicies, type KeyState } from '@sluice/core/spi';
import { leasedPolicy } from '../../../../../src/engine/lease-policy.ts';
import {
  type Random,
  mostBeyondRefill,
  mostPerInterval,
  mostPerWindow,
  type Admission,
  Machine,
  type VirtualTime,
} from '@sluice/testkit';

export const KINDS = ['fixed', 'clock', 'sliding', 'bucket', 'list'] as const;
export type Kind = (typeof KINDS)[number];

export interface WorldPlan {
  readonly kind: Kind;
  readonly units: number;
  readonly windowMs: number;
  readonly maxAgeMs: number;
  /** Of processes' clocks: at most this much too fast or too slow. */
  readonly drift: number;
  /** Whether no process leases: what the policies allow by themselves. */
  readonly isSingle?: boolean;
}

/** One process, on a machine of its own, with a way to the store. */
export class Process {
  readonly machine: Machine;
  readonly leases: Leases;
  /** How long a message takes on its way, at least and at most. */
  latencyMs: readonly [least: number, most: number] = [0, 2];
  /** Of a hundred messages so many are lost. */
  lossPercent = 0;
  /** What it was allowed by: its leases, or the store. */
  allowed = { lease: 0, store: 0 };
  calls = 0;

  constructor(machine: Machine, makeLeases: (process: Process) => Leases) {
    this.machine = machine;
    this.leases = makeLeases(this);
  }
}

const TIMEOUT_MS = 100;
const SUBJECT = encodeSubject('hot');

/** No more may be refilled in a slice's life than a bucket holds. */
function refillMsOf({ windowMs, maxAgeMs }: WorldPlan): number {
  return Math.max(windowMs, 2 * maxAgeMs);
}

export function policiesOf(plan: WorldPlan): readonly Policy[] {
  const { kind, units, windowMs } = plan;
  const every = refillMsOf(plan);
  const sliding = slidingWindow({ name: 'sliding', limit: units, window: windowMs });
  const bucket = tokenBucket({ name: 'bucket', capacity: units, refill: units, every });
  switch (kind) {
    case 'fixed':
      return [fixedWindow({ name: 'fixed', limit: units, window: windowMs })];
    case 'clock':
      return [fixedWindow({ name: 'clock', limit: units, window: windowMs, align: 'clock' })];
    case 'sliding':
      return [sliding];
    case 'bucket':
      return [bucket];
    case 'list':
      return [sliding, tokenBucket({ name: 'bucket', capacity: units * 2, refill: units, every })];
  }
}

/** Processes that lease one key of one store, in virtual time: and what was allowed, by the store's clock. */
export class World {
  readonly plan: WorldPlan;
  readonly time: VirtualTime;
  readonly #random: Random;
  readonly #policies: readonly Policy[];
  readonly #limit;
  readonly #key: KeyState;
  /** Ends of windows that the store has counted in. */
  readonly #windowEnds: number[] = [];
  readonly #admissions: Admission[] = [];

  constructor(plan: WorldPlan, random: Random, time: VirtualTime) {
    this.plan = plan;
    this.time = time;
    this.#random = random;
    this.#policies = policiesOf(plan);
    const named = namePolicies(this.#policies, 'hot');
    this.#limit = {
      policies: plan.isSingle === true ? named : named.map((each) => leasedPolicy(each, plan.maxAgeMs)),
      keySuffix: keySuffixOf('hot', named),
    };
    this.#key = { blockedUntilMs: 0, states: named.map(() => undefined) };
  }

  /** In which so many units come back as the plan says. */
  get refillMs(): number {
    return this.plan.kind === 'bucket' || this.plan.kind === 'list' ? refillMsOf(this.plan) : this.plan.windowMs;
  }

  start(): Process {
    const ppm = Math.round(this.plan.drift * 1e6);
    const machine = new Machine(this.time, {
      rate: 1 + this.#random.integer(-ppm, ppm) / 1e6,
      dateOffsetMs: this.#random.integer(-1, 1) * this.#random.integer(0, 7_200_000),
    });
    return new Process(
      machine,
      (process) => new Leases(this.plan.maxAgeMs, memoryStore(), this.#portOf(process), process.machine),
    );
  }

  /** Units that came from slices. */
  leased = 0;

  /** Units that were allowed since that instant. */
  allowedSince(sinceMs: number): number {
    return this.#admissions.reduce((sum, { atMs, units }) => (atMs >= sinceMs ? sum + units : sum), 0);
  }

  /** Asks a process for units, as soon as it runs: of what it holds, or else of the store. */
  ask(process: Process, cost: number): void {
    process.machine.run(() => {
      const decision = process.leases.consume(this.#limit, SUBJECT, cost);
      if (decision !== undefined) {
        this.#checkDecision(decision);
        process.allowed.lease += cost;
        this.leased += cost;
        this.#allow(cost);
        return;
      }
      if (this.plan.isSingle !== true) process.leases.recordMiss(this.#limit, SUBJECT, cost);
      this.#send(process, () => {
        if (!this.#decide(cost)) return;
        process.allowed.store += cost;
        this.#allow(cost);
      });
    });
  }

  /** What promises were broken, in words. */
  broken(): readonly string[] {
    return this.#policies.flatMap((policy) => {
      switch (policy.algorithm) {
        case 'fixedWindow':
          return this.#overOf(policy.name, this.#mostPerWindow(policy.align, policy.windowMs), policy.limit);
        case 'slidingWindow':
          return this.#overOf(policy.name, mostPerInterval(this.#admissions, policy.windowMs), policy.limit);
        case 'tokenBucket':
          return this.#overOf(
            policy.name,
            mostBeyondRefill(this.#admissions, policy.refill / policy.everyMs),
            policy.capacity + 1e-6,
          );
        default:
          return [`it is not known what ${policy.algorithm} promises`];
      }
    });
  }

  #overOf(name: string | undefined, most: number, limit: number): readonly string[] {
    return most > limit ? [`${String(name)}: ${String(most)} of ${String(limit)}`] : [];
  }

  #mostPerWindow(align: 'first-hit' | 'clock', windowMs: number): number {
    if (align === 'clock') return mostPerWindow(this.#admissions, windowMs);
    const perWindow = new Map<number, number>();
    for (const { atMs, units } of this.#admissions) {
      const endMs = this.#windowEnds.find((end) => end - windowMs <= atMs && atMs < end) ?? 0;
      perWindow.set(endMs, (perWindow.get(endMs) ?? 0) + units);
    }
    return perWindow.has(0) ? Infinity : Math.max(0, ...perWindow.values()); // 0: spent when no window was open
  }

  /** The numbers of a decision hold: nothing is promised that is not held, and no instant is out of its place. */
  #checkDecision({ allowed, source, remaining, limit, resetAfterMs, policies }: Decision): void {
    const isSound =
      allowed &&
      source === 'lease' &&
      remaining >= 0 &&
      remaining <= limit &&
      resetAfterMs >= 0 &&
      policies.every(({ nextAfterMs }) => nextAfterMs !== null && nextAfterMs > 0);
    if (!isSound)
      throw new Error(`an unsound decision: ${JSON.stringify({ remaining, limit, resetAfterMs, policies })}`);
  }

  #allow(units: number): void {
    this.#admissions.push({ atMs: Math.floor(this.time.nowMs), units });
  }

  /** One unit after the other, so that what a run takes is not told by what is tested. */
  #decide(cost: number): boolean {
    const atMs = Math.floor(this.time.nowMs);
    const parts = [{ limit: this.#limit, subject: SUBJECT, cost }];
    const { changed } = evaluate({ op: 'consume', parts }, [this.#key], atMs);
    const [state] = this.#key.states as readonly { readonly endMs?: number }[];
    if (changed && state?.endMs !== undefined && state.endMs !== this.#windowEnds.at(-1)) {
      this.#windowEnds.push(state.endMs);
    }
    return changed;
  }

  #portOf(process: Process): LeasePort {
    return {
      timeoutMs: TIMEOUT_MS,
      inBackground: () => undefined,
      request: (_limit, _subject, count) =>
        new Promise((resolve, reject) => {
          process.calls++;
          const sentMs = process.machine.monotonicMs();
          process.machine.after(TIMEOUT_MS, () => {
            reject(new Error('late'));
          });
          this.#send(process, () => {
            const atMs = Math.floor(this.time.nowMs);
            const key = { ...this.#key };
            for (let i = 0; i < count && this.#decide(1);) i++;
            this.#send(process, () => {
              process.machine.run(() => {
                resolve({ atMs, sentMs, key });
              });
            });
          });
        }),
      giveBack: (requests) => {
        process.calls++;
        this.#send(process, () => {
          for (const request of requests) evaluate(request, [this.#key], Math.floor(this.time.nowMs));
        });
        return Promise.resolve();
      },
    };
  }

  #send(process: Process, arrive: () => void): void {
    if (process.machine.isDead || this.#random.percent(process.lossPercent)) return;
    const [leastMs, mostMs] = process.latencyMs;
    this.time.after(this.#random.integer(leastMs * 1000, mostMs * 1000) / 1000, arrive);
  }
}
