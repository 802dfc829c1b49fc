import { Machine, VirtualTime, type Admission, type Random } from '@sluice/testkit';
import { fixedWindow, slidingWindow, tokenBucket, type Policy } from '../../../src/index.ts';
import { ALLOWED } from '../../../src/program/decide.ts';
import type { Membership, Members, UntimedConfirmation } from '../../../src/split/membership/membership.ts';
import { poll } from '../../../src/split/membership/poll-membership.ts';
import { createSplitStore, type SplitStore } from '../../../src/split/split-store.ts';

/** What all instances of a world share. */
export interface RegistryPlan {
  readonly units: number;
  readonly windowMs: number;
  readonly everyMs: number;
  readonly ttlMs: number;
  readonly graceMs: number;
  /** The longest that a request or its answer is under way. */
  readonly latencyMs: number;
  /** The least time between two changes of the registry. */
  readonly calmMs: number;
}

export const KINDS = ['fixed', 'sliding', 'bucket'] as const;
export type Kind = (typeof KINDS)[number];

/** How the registry answers: truly, not at all, without members, or each instance something else. */
export type Mood = 'true' | 'away' | 'empty' | 'lying';

/** From when on something held. */
export interface Since<T> {
  readonly fromMs: number;
  readonly value: T;
}

/** One process. */
export interface Instance {
  readonly id: string;
  readonly machine: Machine;
  readonly store: SplitStore;
  /** Whether its requests reach the registry. */
  isCutOff: boolean;
  /** The answers that it got, and when each was asked for. */
  readonly answers: (Since<Members> & { readonly askedAtMs: number })[];
  /** What it allowed, by kind and key. */
  readonly admissions: Map<string, Admission[]>;
}

export const MAX_INSTANCES = 6;
/** A whole second, so that windows begin as people expect. */
const START_MS = 1_795_262_400_000;

/** Instances that poll a registry without time and history, in virtual time, and what each of them allowed. */
export class RegistryWorld {
  readonly plan: RegistryPlan;
  readonly time: VirtualTime = new VirtualTime(START_MS);
  readonly truth: Since<Members>[] = [{ fromMs: -Infinity, value: {} }];
  readonly moods: Since<Mood>[] = [{ fromMs: -Infinity, value: 'true' }];
  /** All that were ever started. */
  readonly all: Instance[] = [];
  live: Instance[] = [];
  readonly #random: Random;
  readonly #policies: Readonly<Record<Kind, Policy>>;
  #nextChangeMs = START_MS;
  #isWell = false;

  constructor(plan: RegistryPlan, random: Random) {
    this.plan = plan;
    this.#random = random;
    const { units, windowMs } = plan;
    const window = `${String(windowMs)}ms` as const;
    this.#policies = {
      fixed: fixedWindow({ limit: units, window, align: 'clock' }),
      sliding: slidingWindow({ limit: units, window }),
      bucket: tokenBucket({ capacity: units, refill: units, every: window }),
    };
  }

  start(id = `i${String(this.all.length + 1)}`): Instance {
    const machine = new Machine(this.time, { rate: 1, dateOffsetMs: 0 });
    const { everyMs, ttlMs, graceMs } = this.plan;
    const ask = (): Promise<Members> => this.#answer(instance);
    const join = this.#watched(poll(id, ask, { everyMs, ttlMs }, machine), () => instance);
    const store = createSplitStore({ membership: { id, ttlMs, join }, graceMs }, machine);
    const instance: Instance = { id, machine, store, isCutOff: false, answers: [], admissions: new Map() };
    this.all.push(instance);
    this.live.push(instance);
    for (const kind of KINDS) store.checkPolicy(this.#policies[kind]);
    return instance;
  }

  end(instance: Instance): void {
    this.live = this.live.filter((other) => other !== instance);
    instance.machine.isDead = true;
  }

  /** The registry has noticed: an instance has this weight from now on, or as soon as changes are far enough apart. */
  list(id: string, weight: number | undefined): void {
    this.#nextChangeMs = Math.max(this.#nextChangeMs, this.time.nowMs);
    this.time.at(this.#nextChangeMs, () => {
      const others = Object.entries(this.truth.at(-1)?.value ?? {}).filter(([other]) => other !== id);
      const value = Object.fromEntries(weight === undefined ? others : [...others, [id, weight]]);
      this.truth.push({ fromMs: this.time.nowMs, value });
    });
    this.#nextChangeMs += this.plan.calmMs;
  }

  /** Lets something happen to them, unless all is well by then. */
  later(ms: number, happen: () => void): void {
    this.time.after(ms, () => {
      if (!this.#isWell) happen();
    });
  }

  /** Ends all troubles, and lists the live instances. */
  heal(): void {
    this.#isWell = true;
    this.become('true');
    for (const one of this.live) {
      one.isCutOff = false;
      this.list(one.id, 1);
    }
    for (const { id } of this.all) if (!this.live.some((one) => one.id === id)) this.list(id, undefined);
  }

  /** When the last change that is due will have been made. */
  get settledAtMs(): number {
    return this.#nextChangeMs;
  }

  become(mood: Mood): void {
    this.moods.push({ fromMs: this.time.nowMs, value: mood });
  }

  /** Asks an instance for one unit after the other of a key, until it denies. */
  grab(instance: Instance, kind: Kind, key: string, most = Infinity): number {
    if (!instance.machine.isAwake) return 0;
    const ask = { key: `{${key}}:${kind}`, policy: this.#policies[kind], cost: 1 };
    let allowed = 0;
    try {
      while (allowed < most) {
        if (instance.store.perform('take', [ask]).figures[0]?.[ALLOWED] !== 1) break;
        allowed++;
      }
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SLUICE_SPLIT_UNCONFIRMED') throw error;
    }
    const place = `${kind} ${key}`;
    const admissions = instance.admissions.get(place) ?? [];
    instance.admissions.set(place, admissions);
    if (allowed > 0) admissions.push({ atMs: this.time.nowMs, units: allowed });
    return allowed;
  }

  grabAll(kind: Kind, key: string): number {
    return this.live.reduce((sum, instance) => sum + this.grab(instance, kind, key), 0);
  }

  /** Joins a membership, and writes down what it says. */
  #watched(membership: Membership, instance: () => Instance): Membership['join'] {
    return (confirmed, failed) =>
      membership.join((confirmation) => {
        const { members, askedAtDateMs = NaN } = confirmation as UntimedConfirmation;
        instance().answers.push({ fromMs: this.time.nowMs, askedAtMs: askedAtDateMs, value: members });
        confirmed(confirmation);
      }, failed);
  }

  #answer(instance: Instance): Promise<Members> {
    return new Promise((resolve, reject) => {
      this.#carry(instance, () => {
        const mood = this.moods.at(-1)?.value ?? 'true';
        if (mood === 'away' && this.#random.percent(50)) return; // the request hangs
        const members = mood === 'lying' ? this.#lie(instance.id) : mood === 'empty' ? {} : this.truth.at(-1)?.value;
        this.#carry(instance, () => {
          instance.machine.run(() => {
            if (mood === 'away' || members === undefined) {
              reject(new Error('the registry is away'));
              return;
            }
            resolve(members);
          });
        });
      });
    });
  }

  /** Some of the members, with any weights. */
  #lie(id: string): Members {
    const ids = [id, ...this.all.map((other) => other.id)].filter(() => this.#random.percent(60));
    return Object.fromEntries(ids.map((other) => [other, this.#random.integer(1, 9)]));
  }

  #carry(instance: Instance, arrive: () => void): void {
    if (instance.isCutOff) return;
    const latencyMs = this.#isWell ? 1 : this.plan.latencyMs;
    this.time.after(this.#random.integer(0, latencyMs * 1000) / 1000, () => {
      if (!instance.isCutOff) arrive();
    });
  }
}
