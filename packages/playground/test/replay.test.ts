import { describe, expect, it } from '@jest/globals';
import { createLimiter, memoryStore, type Policy } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import { seeded } from '@sluice/testkit';
import {
  POLICY_KINDS,
  START_MS,
  checkedPolicies,
  newPolicy,
  replay,
  totalsOf,
  withNames,
  type Answer,
  type Offered,
  type PolicyChoice,
  type ReplayOptions,
} from '../src/index.ts';

const SPAN_MS = 180_000;
const whole = { spanMs: SPAN_MS, watched: 0, shared: false };

function decided(
  choices: readonly PolicyChoice[],
  offered: readonly Offered[],
  options: ReplayOptions = whole,
): readonly Answer[] {
  const { policies, errors } = checkedPolicies(choices);
  expect(errors).toEqual([]);
  return replay(policies ?? [], offered, options).answers;
}

/** A request of the first client, which costs one unit and runs for a second. */
const at = (atMs: number, more: Partial<Offered> = {}): Offered => ({
  atMs,
  client: 0,
  cost: 1,
  runsMs: 1_000,
  ...more,
});
const allowed = (answers: readonly Answer[]): readonly boolean[] => answers.map(({ decision }) => decision.allowed);

/** What a limiter in memory decides of the requests, at their instants: a slot is held until its request ends. */
async function decidedByLimiter(
  { id, policy }: { readonly id: string; readonly policy: Policy },
  offered: readonly Offered[],
): Promise<readonly { allowed: boolean; startMs: number; endMs: number }[]> {
  const clock = fakeClock(START_MS);
  const limiter = createLimiter({ policy, store: memoryStore({ clock }), onStoreError: 'throw' });
  const running: { endMs: number; release: () => Promise<unknown> }[] = [];
  const answers = [];
  for (const { atMs, cost, runsMs } of offered) {
    running.sort((one, other) => one.endMs - other.endMs);
    while (running[0] !== undefined && running[0].endMs <= atMs) {
      clock.atMs = START_MS + running[0].endMs;
      await running.shift()?.release();
    }
    clock.atMs = START_MS + atMs;
    const held = id === 'concurrency' ? await limiter.acquire('client') : undefined;
    const { allowed, delayMs } = held?.decision ?? (await limiter.consume('client', cost));
    const startMs = atMs + delayMs;
    answers.push({ allowed, startMs, endMs: startMs + runsMs });
    if (held !== undefined && allowed) running.push({ endMs: startMs + runsMs, release: () => held.release() });
  }
  await limiter.close();
  return answers;
}

describe('the traffic of three minutes', () => {
  const random = seeded(1);
  const phases = [
    { fromMs: 0, toMs: 38_000, count: 19 },
    { fromMs: 38_000, toMs: 45_000, count: 105 },
    { fromMs: 45_000, toMs: 115_000, count: 198 },
    { fromMs: 147_000, toMs: SPAN_MS, count: 96 },
  ];
  const offered = phases
    .flatMap(({ fromMs, toMs, count }) => Array.from({ length: count }, () => random.integer(fromMs, toMs - 1)))
    .sort((one, other) => one - other)
    .map((atMs) => at(atMs, { runsMs: random.integer(500, 4_500) }));

  it.each(POLICY_KINDS.map(({ id }) => id))(
    'is decided as by a limiter in memory, request by request: %s',
    async (id) => {
      const choice = newPolicy(id);
      const { policies = [] } = checkedPolicies([choice]);
      const byLimiter = await decidedByLimiter({ id, policy: policies[0] as Policy }, offered);

      const answers = decided([choice], offered);

      expect(answers.map(({ decision, startMs, endMs }) => ({ allowed: decision.allowed, startMs, endMs }))).toEqual(
        byLimiter,
      );
      expect(totalsOf(answers, 20_000)).toMatchObject({
        offered: offered.length,
        allowed: byLimiter.filter(({ allowed }) => allowed).length,
      });
    },
  );
});

describe('several policies', () => {
  const both = withNames([
    { kind: 'fixedWindow', name: '', values: { limit: '3', window: '1s' } },
    { kind: 'fixedWindow', name: '', values: { limit: '4', window: '1m' } },
  ]);

  it('are one decision: what one denies is not charged to the other', () => {
    const answers = decided(both, [at(0), at(1), at(2), at(3), at(1_000), at(1_001)]);

    expect(allowed(answers)).toEqual([true, true, true, false, true, false]);
    expect(answers.map(({ decision }) => decision.policy)).toEqual([
      'per-1s',
      'per-1s',
      'per-1s',
      'per-1s',
      'per-1m',
      'per-1m',
    ]);
  });

  it('hold slots and count units at once', () => {
    const answers = decided(
      withNames([
        { kind: 'concurrency', name: '', values: { limit: '1', ttl: '1m' } },
        { kind: 'fixedWindow', name: '', values: { limit: '2', window: '1m' } },
      ]),
      [at(0), at(500), at(1_000), at(2_000)],
    );

    expect(allowed(answers)).toEqual([true, false, true, false]);
  });
});

describe('clients', () => {
  const one = [{ kind: 'fixedWindow', name: '', values: { limit: '1', window: '1m' } }];
  const offered = [at(0), at(1, { client: 1 }), at(2)];

  it('are limited one by one', () => {
    expect(allowed(decided(one, offered))).toEqual([true, true, false]);
  });

  it('are limited together where they share a key', () => {
    expect(allowed(decided(one, offered, { ...whole, shared: true }))).toEqual([true, false, false]);
  });
});

describe('denied requests', () => {
  const window = (limit: string, length: string): readonly PolicyChoice[] => [
    { kind: 'fixedWindow', name: '', values: { limit, window: length } },
  ];
  const shown = (answers: readonly Answer[]): readonly (readonly [number, boolean, number])[] =>
    answers.map(({ atMs, decision, retry }) => [atMs, decision.allowed, retry]);

  it('come back after Retry-After, in whole seconds, and take part in what is decided about others', () => {
    const answers = decided(window('1', '10s'), [at(0), at(100), at(200), at(10_150)], { ...whole, retries: 'after' });

    expect(shown(answers)).toEqual([
      [0, true, 0],
      [100, false, 0],
      [200, false, 0],
      [10_100, true, 1],
      // Denied, because one that came back was there first.
      [10_150, false, 0],
      [10_200, false, 1],
      [20_150, true, 1],
      [20_200, false, 2],
      [30_200, true, 3],
    ]);
  });

  it('come back after 2, 4, 8 and 16 columns, and then no more', () => {
    const hour = window('1', '1h');
    const answers = decided(hour, [at(0), at(100)], { ...whole, spanMs: 60_000, retries: 'backoff' });

    expect(shown(answers).slice(2)).toEqual([
      [2_100, false, 1],
      [6_100, false, 2],
      [14_100, false, 3],
      [30_100, false, 4],
    ]);
  });

  it('stay away where the response has no Retry-After: they cost too much, or wait for a slot', () => {
    const slots = [{ kind: 'concurrency', name: '', values: { limit: '1', ttl: '1m' } }];
    const again = { ...whole, retries: 'after' } as const;

    expect(shown(decided(window('1', '10s'), [at(0, { cost: 2 })], again))).toEqual([[0, false, 0]]);
    expect(shown(decided(slots, [at(0), at(1)], again))).toHaveLength(2);
    expect(shown(decided(slots, [at(0), at(1)], { ...again, retries: 'backoff' })).at(-1)).toEqual([6_001, true, 1]);
  });

  it('do not come back after the end', () => {
    expect(decided(window('1', '1h'), [at(0), at(1)], { ...whole, retries: 'after' })).toHaveLength(2);
  });

  it('are decided like all requests at their instants, and are no more than a page can show', () => {
    const offered = Array.from({ length: 6_000 }, (_, i) => at(i * 10, { client: i % 3 }));
    const bucket = [{ kind: 'tokenBucket', name: '', values: { capacity: '10', refill: '1', every: '1s' } }];

    const answers = decided(bucket, offered, { ...whole, retries: 'backoff' });

    expect(answers.length).toBeGreaterThan(10_000);
    expect(answers.length).toBeLessThanOrEqual(11_000);
    expect(allowed(decided(bucket, answers))).toEqual(allowed(answers));
  });
});

describe('a slot', () => {
  const slots = [newPolicy('concurrency')].map((choice) => ({ ...choice, values: { limit: '1', ttl: '2s' } }));

  it('is free at the instant at which its request ends', () => {
    expect(allowed(decided(slots, [at(0), at(999), at(1_000)]))).toEqual([true, false, true]);
  });

  it('expires after its ttl, as that of a holder that has crashed', () => {
    const long = { runsMs: 60_000 };

    expect(allowed(decided(slots, [at(0, long), at(1_999, long), at(2_000, long)]))).toEqual([true, false, true]);
  });
});

describe('the samples of what is left', () => {
  const bucket = { kind: 'tokenBucket', name: '', values: { capacity: '10', refill: '1', every: '1s' } };

  it('cover the span, in order, and show each request of the watched client before and after', () => {
    const { policies = [] } = checkedPolicies([bucket]);
    const { samples } = replay(policies, [at(60_000, { cost: 4 }), at(60_000, { client: 1, cost: 9 })], whole);

    expect(samples.map(({ atMs }) => atMs)).toEqual(samples.map(({ atMs }) => atMs).sort((a, b) => a - b));
    expect([samples[0]?.atMs, samples.at(-1)?.atMs]).toEqual([0, SPAN_MS]);
    expect(samples.filter(({ atMs }) => atMs === 60_000).map(({ remaining }) => remaining)).toEqual([[10], [6]]);
    expect(samples.filter(({ atMs }) => atMs > 60_000 && atMs < 64_000).map(({ remaining }) => remaining[0])).toEqual([
      6, 7, 8, 9, 9,
    ]);
  });

  it('show the shared key where clients share it', () => {
    const { policies = [] } = checkedPolicies([bucket]);
    const { samples } = replay(policies, [at(60_000, { client: 1, cost: 9 })], { ...whole, shared: true });

    expect(samples.filter(({ atMs }) => atMs === 60_000).map(({ remaining }) => remaining)).toContainEqual([1]);
  });

  it('take nothing', () => {
    const offered = Array.from({ length: 300 }, (_, i) => at(i * 400));

    const [left, right] = [0, 1].map((watched) => decided([bucket], offered, { ...whole, watched }));

    expect(left).toEqual(right);
  });
});
