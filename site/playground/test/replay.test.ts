import { describe, expect, it } from '@jest/globals';
import { createLimiter, memoryStore, type Policy } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import { seeded } from '@sluice/testkit';
import { POLICY_KINDS, checkPolicies, newPolicy, type PolicyChoice } from '../policies.ts';
import { START_MS, replay, type Replayed } from '../replay.ts';
import type { Offered, Pasted } from '../traffic.ts';

const SPAN_MS = 180_000;

function replayed(
  choices: readonly PolicyChoice[],
  requests: readonly Offered[],
  { watched = 0, isShared = false, ...more }: Partial<Pasted> & { watched?: number; isShared?: boolean } = {},
): Replayed {
  const { policies = [], errors } = checkPolicies(choices);
  expect(errors).toEqual([]);
  const traffic: Pasted = {
    ...{ from: 'pasted', spanMs: SPAN_MS, runsMs: 1_000, retries: 'none', clients: ['a', 'b', 'c'], requests },
    ...more,
  };
  return replay(policies, traffic, { watched, isShared });
}

/** A request of the first client, which costs one unit. */
const at = (atMs: number, more: Partial<Offered> = {}): Offered => ({ atMs, client: 0, cost: 1, ...more });
const allowed = ({ answers }: Replayed): readonly boolean[] => answers.map(({ decision }) => decision.allowed);
const fixed = (limit: string, window: string, name = ''): PolicyChoice => ({
  kind: 'fixedWindow',
  values: { limit, window, name },
});
const slots = (limit: string, ttl: string): PolicyChoice => ({
  kind: 'concurrency',
  values: { limit, ttl, name: 'slots' },
});

/** What a limiter in memory decides of the requests, at their instants: a slot is held until its request ends. */
async function decidedByLimiter(
  policy: Policy,
  offered: readonly Offered[],
  runsMs: number,
): Promise<readonly { allowed: boolean; startMs: number }[]> {
  const clock = fakeClock(START_MS);
  const limiter = createLimiter({ policy, store: memoryStore({ clock }), onStoreError: 'throw' });
  const running: { endMs: number; release: () => Promise<unknown> }[] = [];
  const answers = [];
  for (const { atMs, cost } of offered) {
    while (running[0] !== undefined && running[0].endMs <= atMs) {
      clock.atMs = START_MS + running[0].endMs;
      await running.shift()?.release();
    }
    clock.atMs = START_MS + atMs;
    const held = policy.algorithm === 'concurrency' ? await limiter.acquire('client') : undefined;
    const { allowed, delayMs } = held?.decision ?? (await limiter.consume('client', cost));
    answers.push({ allowed, startMs: atMs + delayMs });
    if (held !== undefined && allowed) running.push({ endMs: atMs + runsMs, release: () => held.release() });
  }
  await limiter.close();
  return answers;
}

describe('the traffic of three minutes', () => {
  const random = seeded(1);
  const phases: readonly [fromMs: number, toMs: number, count: number][] = [
    [0, 38_000, 19],
    [38_000, 45_000, 105],
    [45_000, 115_000, 198],
    [147_000, SPAN_MS, 96],
  ];
  const offered = phases
    .flatMap(([fromMs, toMs, count]) => Array.from({ length: count }, () => random.integer(fromMs, toMs - 1)))
    .sort((one, other) => one - other)
    .map((atMs) => at(atMs));

  it.each(POLICY_KINDS.map(({ id }) => id))('is decided as by a limiter in memory: %s', async (id) => {
    const policy = checkPolicies([newPolicy(id)]).policies?.[0] as Policy;
    const byLimiter = await decidedByLimiter(policy, offered, 3_700);
    const { answers } = replayed([newPolicy(id)], offered, { runsMs: 3_700 });

    expect(answers.map(({ decision, startMs }) => ({ allowed: decision.allowed, startMs }))).toEqual(byLimiter);
  });
});

describe('several policies', () => {
  it('hold slots and count units at once', () => {
    const times = [at(0), at(500), at(1_000), at(2_000)];

    expect(allowed(replayed([slots('1', '1m'), fixed('2', '1m', 'units')], times))).toEqual([true, false, true, false]);
  });

  it('free a slot at the instant at which its request ends, or after its ttl', () => {
    expect(allowed(replayed([slots('1', '2s')], [at(0), at(999), at(1_000)]))).toEqual([true, false, true]);
    expect(allowed(replayed([slots('1', '2s')], [at(0), at(1_999), at(2_000)], { runsMs: 60_000 }))).toEqual([
      ...[true, false, true],
    ]);
  });
});

describe('denied requests', () => {
  const shown = ({ answers }: Replayed): readonly unknown[] =>
    answers.map(({ atMs, decision, retry }) => [atMs, decision.allowed, retry]);

  it('come back after Retry-After, in whole seconds, and take part in what is decided about others', () => {
    const offered = [at(0), at(100), at(200), at(10_150)];

    expect(shown(replayed([fixed('1', '10s')], offered, { retries: 'after' }))).toEqual([
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
    const minute = replayed([fixed('1', '1h')], [at(0), at(100)], { spanMs: 60_000, retries: 'backoff' });

    expect(shown(minute).slice(2)).toEqual([2_100, 6_100, 14_100, 30_100].map((atMs, i) => [atMs, false, i + 1]));
  });

  it('stay away where the response has no Retry-After, and do not come back after the end', () => {
    const retries = 'after';

    expect(replayed([fixed('1', '10s')], [at(0, { cost: 2 })], { retries }).answers).toHaveLength(1);
    expect(replayed([slots('1', '1m')], [at(0), at(1)], { retries }).answers).toHaveLength(2);
    expect(replayed([fixed('1', '1h')], [at(0), at(1)], { retries }).answers).toHaveLength(2);
  });

  it('are decided like all requests at their instants, and are no more than a page can show', () => {
    const offered = Array.from({ length: 6_000 }, (_, i) => at(i * 10, { client: i % 3 }));
    const bucket = [{ kind: 'tokenBucket', values: { capacity: '10', refill: '1', every: '1s' } }];
    const stormy = replayed(bucket, offered, { retries: 'backoff' });

    expect(stormy.answers).toHaveLength(11_000);
    expect(allowed(replayed(bucket, stormy.answers))).toEqual(allowed(stormy));
  });
});

describe('the samples of what is left', () => {
  const bucket = [{ kind: 'tokenBucket', values: { capacity: '10', refill: '1', every: '1s' } }];
  const ofOther = at(60_000, { client: 1, cost: 9 });
  const leftAt = (samples: Replayed['samples'], from: number, to = from): unknown =>
    samples.filter(({ atMs }) => atMs >= from && atMs <= to).map(({ remaining }) => remaining[0]);

  it('cover the span, in order, and show each request of the watched client before and after', () => {
    const { samples } = replayed(bucket, [at(60_000, { cost: 4 }), ofOther]);

    expect(samples).toEqual(samples.toSorted((a, b) => a.atMs - b.atMs));
    expect([samples[0]?.atMs, samples.at(-1)?.atMs]).toEqual([0, SPAN_MS]);
    expect(leftAt(samples, 60_000)).toEqual([10, 6, 6]);
    expect(leftAt(samples, 60_001, 64_000)).toEqual([6, 7, 8, 9, 9]);
  });

  it('show the shared key where clients share it', () => {
    expect(leftAt(replayed(bucket, [ofOther], { isShared: true }).samples, 60_000)).toContain(1);
  });
});
