import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { watchDecisions, type LimiterCore, type SeenDecision } from '@sluice/core/spi';
import { DeniedKeys } from './denied-keys.ts';
import { MINUTES } from './shared/record.ts';

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
const MINUTE_S = 60;
const HOUR_S = 3_600;
/** Durations from a microsecond to 100 s, to a hundredth. */
const NANOSECONDS = { lowest: 1_000, highest: 1e11, figures: 2 };

/** Counts the decisions of this process, by limiter and policy, and finds the keys denied most. */
export class Recorder {
  readonly startedAtMs: number = Date.now();
  readonly denied: DeniedKeys = new DeniedKeys();
  /** By limiter and policy. Limiters of one name count as one, as in metrics. */
  readonly counts = new Map<string, PolicyCounts>();
  /** How long decisions take, in nanoseconds, by limiter, since the hour began. */
  readonly durations = new Map<string, RecordableHistogram>();
  /** The place of the present minute in counts by minute. */
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
      this.#tick();
      everySecond();
    }, SECOND_MS);
    this.#timer.unref();
  }

  /** Counts in the order of their minutes, the present one last. */
  inOrder(byMinute: Uint32Array): readonly number[] {
    return [...byMinute.subarray(this.#minute + 1), ...byMinute.subarray(0, this.#minute + 1)];
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stop();
  }

  /** What happens every second. */
  #tick(): void {
    if (++this.#seconds % MINUTE_S !== 0) return;
    this.denied.expire(Date.now());
    if (this.#seconds % HOUR_S === 0) for (const durations of this.durations.values()) durations.reset();
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
    const { used, limit: max, windowMs } = policies[at] as (typeof policies)[number];
    const isBlocked = outcome === 'blocked';
    const denial = { atMs: Date.now(), count: 1, used, limit: max, windowMs, isBlocked };
    this.denied.add(`${core.name} ${policy} ${subject}`, denial, () => ({
      ...{ core, limit, policy, subject, isUnsure: false, length: key.length, denials: [] },
      // A copy, because a slice would keep the whole text.
      key: key.length > MAX_KEY ? Buffer.from(key.slice(0, MAX_KEY)).toString() : key,
    }));
  }

  #count(limiter: string, policy: string, allowed: boolean, durationMs: number): void {
    const name = `${limiter} ${policy}`;
    let counts = this.counts.get(name);
    if (counts === undefined) {
      if (this.counts.size >= MAX_POLICIES) return;
      counts = { limiter, policy, allowed: new Uint32Array(MINUTES), denied: new Uint32Array(MINUTES) };
      this.counts.set(name, counts);
      if (!this.durations.has(limiter)) this.durations.set(limiter, createHistogram(NANOSECONDS));
    }
    this.durations.get(limiter)?.record(Math.max(1, Math.round(durationMs * 1e6)));
    const byMinute = allowed ? counts.allowed : counts.denied;
    byMinute[this.#minute] = (byMinute[this.#minute] as number) + 1;
  }
}
