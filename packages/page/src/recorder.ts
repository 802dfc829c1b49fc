import { watchDecisions, type LimiterCore, type SeenDecision } from '@sluice/core/spi';
import { Durations } from './durations.ts';
import type { LimitedKey } from './limits.ts';
import { MINUTES, type Denial } from './shared/record.ts';
import { TopKeys } from './top-keys.ts';

/** A key that was denied, and the policy that denied it. */
export interface DeniedKey extends LimitedKey {
  readonly policy: string;
  /** By minute of the period, newest last. */
  readonly denials: Denial[];
}

/** A limiter's decisions by one policy, for each minute of the last hour. */
export interface PolicyCounts {
  readonly limiter: string;
  readonly policy: string;
  readonly allowed: Uint32Array;
  readonly denied: Uint32Array;
}

const MAX_KEY = 256;
/** Functions may return policies with any name: further ones are not counted. */
const MAX_POLICIES = 1_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** Three of them are an hour. */
const PERIOD_S = 1_200;

/** Counts the decisions of this process, by limiter and policy, and finds the keys denied most. */
export class Recorder {
  readonly startedAtMs: number = Date.now();
  readonly denied: TopKeys<DeniedKey> = new TopKeys(this.startedAtMs);
  /** By limiter and policy. Limiters with one name count as one, as in metrics. */
  readonly counts = new Map<string, PolicyCounts>();
  /** How long decisions take, by limiter. */
  readonly durations = new Map<string, Durations>();
  /** The place of the current minute in counts by minute. */
  #minute = 0;
  readonly #only: ReadonlySet<LimiterCore> | undefined;
  readonly #stop: () => void;
  readonly #timer: NodeJS.Timeout;
  #seconds = 0;

  /**
   * @param only - The limiters to count. Default: all in the process.
   * @param everySecond - Called every second.
   */
  constructor(only: ReadonlySet<LimiterCore> | undefined, everySecond: () => void) {
    this.#only = only;
    this.#stop = watchDecisions((seen) => {
      this.#record(seen);
    });
    this.#timer = setInterval(() => {
      this.tick();
      everySecond();
    }, SECOND_MS);
    this.#timer.unref();
  }

  /** The keys with this subject among those denied most, with the limits that decided. */
  seen(subject: string): readonly DeniedKey[] {
    return [...this.denied.items().values()].filter((item) => item.subject === subject);
  }

  /** The denials of a key in the last hour, newest first. */
  denialsOf({ core, policy, subject }: Pick<DeniedKey, 'core' | 'policy' | 'subject'>): readonly Denial[] {
    const kept = this.denied.find(`${core.name} ${policy} ${subject}`);
    return kept.flatMap(({ denials }) => denials.toReversed());
  }

  /** Counts in the order of minutes, the current one last. */
  inOrder(byMinute: Uint32Array): readonly number[] {
    return [...byMinute.subarray(this.#minute + 1), ...byMinute.subarray(0, this.#minute + 1)];
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stop();
  }

  /** What happens every second. */
  tick(): void {
    this.#seconds++;
    if (this.#seconds % PERIOD_S === 0) {
      this.denied.turn(Date.now());
      for (const durations of this.durations.values()) durations.fade();
    }
    if (this.#seconds % 60 !== 0) return;
    this.#minute = (this.#minute + 1) % MINUTES;
    for (const { allowed, denied } of this.counts.values()) allowed[this.#minute] = denied[this.#minute] = 0;
  }

  #record({ limiter, op, decision, durationMs, wants }: SeenDecision): void {
    const core = limiter as LimiterCore;
    if (op === 'peek' || (this.#only !== undefined && !this.#only.has(core))) return;
    const { allowed, policy, policies, outcome } = decision;
    this.#count(core.name, policy, allowed, durationMs);
    const at = policies.findIndex((one) => !one.allowed && one.name === policy);
    const want = wants[at];
    if (want === undefined || (outcome !== 'denied' && outcome !== 'blocked')) return; // not because of its key
    const { limit, subject, key } = want;
    const { denials } = this.denied.add(`${core.name} ${policy} ${subject}`, () => ({
      ...{ core, limit, policy, subject, isUnsure: false, length: key.length, denials: [] },
      // A copy, because a slice would keep the whole text.
      key: key.length > MAX_KEY ? Buffer.from(key.slice(0, MAX_KEY)).toString() : key,
    }));
    const { used, limit: max, windowMs } = policies[at] as (typeof policies)[number];
    const [last, nowMs] = [denials.at(-1), Date.now()];
    const isSame = last !== undefined && Math.floor(last.atMs / MINUTE_MS) === Math.floor(nowMs / MINUTE_MS);
    const { atMs, count } = isSame ? last : { atMs: nowMs, count: 0 };
    const isBlocked = outcome === 'blocked';
    denials[isSame ? denials.length - 1 : denials.length] = {
      ...{ atMs, count: count + 1, used, limit: max, windowMs, isBlocked },
    };
  }

  #count(limiter: string, policy: string, allowed: boolean, durationMs: number): void {
    const name = `${limiter} ${policy}`;
    let counts = this.counts.get(name);
    if (counts === undefined) {
      if (this.counts.size >= MAX_POLICIES) return;
      counts = { limiter, policy, allowed: new Uint32Array(MINUTES), denied: new Uint32Array(MINUTES) };
      this.counts.set(name, counts);
      if (!this.durations.has(limiter)) this.durations.set(limiter, new Durations());
    }
    this.durations.get(limiter)?.add(durationMs);
    const byMinute = allowed ? counts.allowed : counts.denied;
    byMinute[this.#minute] = (byMinute[this.#minute] as number) + 1;
  }
}
