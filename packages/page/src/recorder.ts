import { detached, eachPolicy, watchDecisions, type LimitRef, type PublishedDecision } from '@sluice/old-core/spi';
import type { KnownLimit, LiveLimiter } from './limits.ts';
import { MINUTES, MinuteCounts, Timings } from './counts.ts';
import { TopKeys } from './top-keys.ts';

/** A key under a limit, as decisions have shown it. */
export interface CountedKey {
  readonly core: LiveLimiter;
  readonly limit: LimitRef;
  /** Whether the key was not counted, and other limits with this kind of key have other numbers. */
  readonly isUnsure: boolean;
  readonly policy: string;
  /** The key as the store has it: bounded. */
  readonly subject: string;
  /** Its beginning, as the application gave it. */
  readonly key: string;
  /** The number of its characters. */
  readonly length: number;
}

/** A key that was not counted, under a limit. */
export function keyUnder(
  { core, limit, isOneOfSeveral }: KnownLimit,
  shown: Omit<CountedKey, 'core' | 'limit' | 'isUnsure'>,
): CountedKey {
  return { core, limit, isUnsure: isOneOfSeveral, ...shown };
}

/** What is counted for one limiter. */
export interface LimiterCounts {
  readonly name: string;
  readonly policies: Map<string, MinuteCounts>;
  readonly timings: Timings;
  /** The policy that decided last, and its counts: usually the next one too. */
  lastPolicy: string;
  lastCounts: MinuteCounts | undefined;
}

const LONGEST_KEY = 256;
/** Allowed requests are many, and those of single keys are seldom asked for. */
const MOST_ALLOWED_PICKS = 500;
const MOST_LIMITERS = 200;
const MOST_POLICIES = 200;
const OTHER = '(others)';
const SECOND_MS = 1_000;
const PERIOD_S = 300;

/** Counts the decisions of this process: by limiter and policy, and the keys that are denied and used most. */
export class Recorder {
  readonly startedAtMs: number = Date.now();
  readonly denied: TopKeys<CountedKey> = new TopKeys(this.startedAtMs);
  readonly used: TopKeys<CountedKey> = new TopKeys(this.startedAtMs, MOST_ALLOWED_PICKS);
  readonly limiters = new Map<string, LimiterCounts>();
  readonly #only: ReadonlySet<unknown> | undefined;
  readonly #ticked = new Set<() => void>();
  readonly #stop: () => void;
  /** The limiter that decided last: usually the next one too. */
  #last: LimiterCounts | undefined;
  #minute = 0;
  #seconds = 0;

  /** @param only - The limiters that are counted. Default: all of the process. */
  constructor(only: ReadonlySet<unknown> | undefined) {
    this.#only = only;
    const stop = watchDecisions((published) => {
      this.#record(published);
    });
    const timer = detached(() => setInterval(this.tick.bind(this), SECOND_MS));
    timer.unref();
    this.#stop = () => {
      clearInterval(timer);
      stop();
    };
  }

  /** The place of the present minute in counts by minute. */
  get minute(): number {
    return this.#minute;
  }

  /** The keys with this subject among those that are denied or used most. */
  seen(subject: string): readonly CountedKey[] {
    return [this.denied, this.used].flatMap((top) => top.items().filter((item) => item.subject === subject));
  }

  /** Calls back every second. Returns a function that stops it. */
  everySecond(call: () => void): () => void {
    this.#ticked.add(call);
    return () => {
      this.#ticked.delete(call);
    };
  }

  close(): void {
    this.#stop();
    this.#ticked.clear();
  }

  /** What happens every second. */
  tick(): void {
    this.#seconds++;
    this.denied.tick();
    this.used.tick();
    if (this.#seconds % 60 === 0) {
      this.#minute = (this.#minute + 1) % MINUTES;
      for (const { policies } of this.limiters.values())
        for (const counts of policies.values()) counts.clear(this.#minute);
    }
    if (this.#seconds % PERIOD_S === 0) {
      this.denied.turn(Date.now());
      this.used.turn(Date.now());
      for (const { timings } of this.limiters.values()) timings.clear();
    }
    for (const call of this.#ticked) call();
  }

  #record(published: PublishedDecision): void {
    const { op, decision, limiter, durationMs } = published.message;
    if (op === 'peek' || (this.#only !== undefined && !this.#only.has(published.core))) return;
    const { allowed, remaining, limit, policy, outcome } = decision;
    const of = this.#last?.name === limiter ? this.#last : (this.#last = this.#limiter(limiter));
    of.timings.add(durationMs, decision.source);
    const counts = of.lastPolicy === policy && of.lastCounts !== undefined ? of.lastCounts : turnTo(of, policy);
    const minute = this.#minute;
    if (allowed) {
      counts.allowed[minute] = (counts.allowed[minute] as number) + 1;
      if (limit > 0 && remaining * 5 <= limit) counts.near[minute] = (counts.near[minute] as number) + 1;
      const weight = this.used.pick();
      if (weight > 0) this.#countKeys(this.used, published, weight);
    } else {
      counts.denied[minute] = (counts.denied[minute] as number) + 1;
      if (outcome !== 'denied' && outcome !== 'blocked') return; // not because of its key
      const weight = this.denied.pick();
      if (weight > 0) this.#countKeys(this.denied, published, weight, policy);
    }
  }

  /** @param only - The policy whose key is counted. Default: each limit counts its key once. */
  #countKeys(top: TopKeys<CountedKey>, published: PublishedDecision, weight: number, only?: string): void {
    let counted: LimitRef | undefined;
    eachPolicy(published, ({ name }, { limit, subject, key = subject }) => {
      if (counted === limit || (only !== undefined && (name !== only || counted !== undefined))) return;
      counted = limit;
      top.add(`${subject}${limit.keySuffix}${only === undefined ? '' : ` ${name}`}`, weight, () => ({
        core: published.core as LiveLimiter,
        limit,
        isUnsure: false,
        policy: name,
        subject,
        // A copy: a slice keeps the whole text.
        key: key.length > LONGEST_KEY ? Buffer.from(key.slice(0, LONGEST_KEY)).toString() : key,
        length: key.length,
      }));
    });
  }

  #limiter(name: string): LimiterCounts {
    const known = this.limiters.get(name);
    if (known !== undefined) return known;
    if (this.limiters.size >= MOST_LIMITERS && name !== OTHER) return this.#limiter(OTHER);
    const made: LimiterCounts = {
      ...{ name, policies: new Map<string, MinuteCounts>(), timings: new Timings() },
      ...{ lastPolicy: '', lastCounts: undefined },
    };
    this.limiters.set(name, made);
    return made;
  }
}

function turnTo(of: LimiterCounts, policy: string): MinuteCounts {
  of.lastPolicy = policy;
  return (of.lastCounts = policyCounts(of.policies, policy));
}

function policyCounts(policies: Map<string, MinuteCounts>, name: string): MinuteCounts {
  const known = policies.get(name);
  if (known !== undefined) return known;
  if (policies.size >= MOST_POLICIES && name !== OTHER) return policyCounts(policies, OTHER);
  const made = new MinuteCounts();
  policies.set(name, made);
  return made;
}
