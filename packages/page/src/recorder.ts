import { watchDecisions, type LimiterCore, type SeenDecision } from '@sluice/core/spi';
import type { LimitedKey } from './limits.ts';
import { TopKeys } from './top-keys.ts';

/** A key that was denied, and the policy that denied it. */
export interface DeniedKey extends LimitedKey {
  readonly policy: string;
}

/** Decisions of a limiter by one policy, by minute of the last hour. */
export interface PolicyCounts {
  readonly limiter: string;
  readonly policy: string;
  readonly allowed: Uint32Array;
  readonly denied: Uint32Array;
}

/** How many minutes are kept. */
export const MINUTES = 60;
const MAX_KEY = 256;
/** Functions may return policies of any name: those beyond are not counted. */
const MAX_POLICIES = 1_000;
const SECOND_MS = 1_000;
const PERIOD_S = 300;

/** Counts the decisions of this process, by limiter and policy, and the keys that are denied most. */
export class Recorder {
  readonly startedAtMs: number = Date.now();
  readonly denied: TopKeys<DeniedKey> = new TopKeys(this.startedAtMs);
  /** By limiter and policy. Limiters of one name count as one, as in metrics. */
  readonly counts = new Map<string, PolicyCounts>();
  /** The place of the present minute in counts by minute. */
  minute = 0;
  readonly #only: ReadonlySet<LimiterCore> | undefined;
  readonly #stop: () => void;
  readonly #timer: NodeJS.Timeout;
  #seconds = 0;

  /**
   * @param only - The limiters that are counted. Default: all of the process.
   * @param everySecond - Is called then.
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

  /** The keys with this subject among those that are denied most: their limits are those that decided. */
  seen(subject: string): readonly LimitedKey[] {
    return [...this.denied.items().values()].filter((item) => item.subject === subject);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stop();
  }

  /** What happens every second. */
  tick(): void {
    this.#seconds++;
    if (this.#seconds % PERIOD_S === 0) this.denied.turn(Date.now());
    if (this.#seconds % 60 !== 0) return;
    this.minute = (this.minute + 1) % MINUTES;
    for (const { allowed, denied } of this.counts.values()) allowed[this.minute] = denied[this.minute] = 0;
  }

  #record({ limiter, op, decision, wants }: SeenDecision): void {
    const core = limiter as LimiterCore;
    if (op === 'peek' || (this.#only !== undefined && !this.#only.has(core))) return;
    const { allowed, policy, policies, outcome } = decision;
    this.#count(core.name, policy, allowed);
    const want = wants[policies.findIndex((one) => !one.allowed && one.name === policy)];
    if (want === undefined || (outcome !== 'denied' && outcome !== 'blocked')) return; // not because of its key
    const { limit, subject, key } = want;
    this.denied.add(`${core.name} ${policy} ${subject}`, () => ({
      ...{ core, limit, policy, subject, isUnsure: false, length: key.length },
      // A copy: a slice keeps the whole text.
      key: key.length > MAX_KEY ? Buffer.from(key.slice(0, MAX_KEY)).toString() : key,
    }));
  }

  #count(limiter: string, policy: string, allowed: boolean): void {
    const name = `${limiter} ${policy}`;
    let counts = this.counts.get(name);
    if (counts === undefined) {
      if (this.counts.size >= MAX_POLICIES) return;
      counts = { limiter, policy, allowed: new Uint32Array(MINUTES), denied: new Uint32Array(MINUTES) };
      this.counts.set(name, counts);
    }
    const byMinute = allowed ? counts.allowed : counts.denied;
    byMinute[this.minute] = (byMinute[this.minute] as number) + 1;
  }
}
