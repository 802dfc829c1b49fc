import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLimiter, type Policy, type Reservation, type Store } from '@sluice/old-core';
import { cases, fakeClock, seeded, testSeed, useRedis, type FakeClock, type Random } from '@sluice/testkit';
import { kernels, memory, redisBackend, type Backend } from '../../laws/backends.ts';
import { references } from '../../laws/models/index.ts';
import { ModelKey, decideByModel } from '../../laws/models/model-key.ts';
import type { Receipt } from '../../laws/models/model.ts';
import { modelled, peekModel } from '../../laws/models/verdict.ts';
import { START_MS } from '../../traces/step.ts';

const redis = useRedis();
const seed = testSeed(20_261_122);
const RESERVATIONS = 1_000;

/** A reservation whose truth is not known yet, and the note that the ledger has of it. */
interface Outstanding {
  readonly reservation: Reservation;
  readonly receipts: readonly Receipt[];
  readonly actual: number;
  readonly settleAtMs: number;
}

/** What was counted, in numbers, and whatever the limiter and the ledger did not agree on. */
interface Outcome {
  readonly reserved: number;
  readonly denied: number;
  readonly abandoned: number;
  readonly beyond: number;
  readonly late: number;
  readonly differences: readonly unknown[];
}

/**
 * Lets reservations come, be settled early or late, above or below, or never, and keeps the books twice: in the
 * limiter, and in the exact model of its policy.
 */
async function keepBooks(policy: Policy, store: Store, clock: FakeClock, random: Random): Promise<Outcome> {
  const limiter = createLimiter({
    name: 'books',
    shared: true,
    policy,
    store,
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });
  const ledger = new ModelKey([modelled('books', policy)]);
  const key = `client-${String(random.integer(0, 1e9))}`;
  const { limit, policies } = await limiter.peek(key, 0);
  const windowMs = Math.min(policies[0]?.windowMs ?? 1, 1e11);
  const outcome = { reserved: 0, denied: 0, abandoned: 0, beyond: 0, late: 0 };
  const differences: unknown[] = [];
  let outstanding: Outstanding[] = [];

  const compare = async (after: string): Promise<void> => {
    const [counted] = (await limiter.peek(key, 0)).policies;
    const expected = peekModel(ledger.policies[0] as ModelKey['policies'][number], BigInt(clock.atMs));
    if (!isDeepStrictEqual(counted, expected)) differences.push({ after, at: clock.atMs, policy, counted, expected });
  };
  const settle = async ({ reservation, receipts, actual, settleAtMs }: Outstanding): Promise<void> => {
    clock.atMs = settleAtMs;
    const { decision } = reservation;
    const beyond = actual - decision.cost;
    if (beyond > 0) ledger.overcharge(beyond, receipts, clock.atMs);
    else ledger.refund(-beyond, receipts, clock.atMs);
    await reservation.settle(actual);
    if (beyond > 0) outcome.beyond++;
    if (settleAtMs >= decision.atMs + decision.resetAfterMs) outcome.late++;
    await compare('settle');
  };
  const settleUntil = async (atMs: number): Promise<void> => {
    const due = outstanding.filter(({ settleAtMs }) => settleAtMs <= atMs);
    outstanding = outstanding.filter(({ settleAtMs }) => settleAtMs > atMs);
    for (const one of due.sort((a, b) => a.settleAtMs - b.settleAtMs)) await settle(one);
    clock.atMs = atMs;
  };

  while (outcome.reserved < RESERVATIONS) {
    await settleUntil(clock.atMs + random.integer(0, Math.ceil(windowMs / 20)));
    const estimate = random.integer(1, Math.ceil(limit / 10));
    const { answers, receipts } = decideByModel([{ key: ledger, cost: estimate }], clock.atMs, true);
    const reservation = await limiter.reserve(key, estimate);
    outcome.reserved++;
    if (!isDeepStrictEqual(reservation.decision.policies, answers[0]?.policies))
      differences.push({ after: 'reserve', at: clock.atMs, policy, got: reservation.decision.policies, answers });
    if (!reservation.decision.allowed) {
      outcome.denied++;
      continue;
    }
    if (random.percent(10)) {
      outcome.abandoned++; // its process has crashed
      continue;
    }
    const actual = random.pick([0, estimate, random.integer(0, estimate), random.integer(0, 3 * estimate)]);
    const laterMs = random.percent(80) ? random.integer(0, Math.ceil(windowMs / 5)) : random.integer(0, 3 * windowMs);
    outstanding.push({ reservation, receipts: receipts[0] ?? [], actual, settleAtMs: clock.atMs + laterMs });
  }
  await settleUntil(Math.max(clock.atMs, ...outstanding.map(({ settleAtMs }) => settleAtMs)));
  return { ...outcome, differences };
}

const backends: readonly (Backend & { readonly samples: number })[] = [
  { ...kernels, samples: cases(10) },
  { ...memory, samples: cases(10) },
  { ...redisBackend(redis), samples: cases(3) },
];

/** Slots are held, and not counted afterwards: they are acquired. */
const counting = references.filter(({ algorithm }) => algorithm !== 'concurrency');

describe.each(counting)('the books of a thousand reservations under $algorithm', ({ policies }) => {
  it.each(backends)('balance, with crashes and late settlements, in $name', async (backend) => {
    const sums = { reserved: 0, denied: 0, abandoned: 0, beyond: 0, late: 0 };
    for (const [number, policy] of fc.sample(policies, { seed, numRuns: backend.samples }).entries()) {
      const clock = fakeClock(START_MS);

      const { differences, ...counted } = await keepBooks(policy, backend.store(clock), clock, seeded(seed + number));

      expect(differences.slice(0, 2)).toEqual([]);
      for (const kind of Object.keys(sums) as (keyof typeof sums)[]) sums[kind] += counted[kind];
    }
    // Nothing of it was left untried.
    expect(Object.values(sums).every((count) => count > 0)).toBe(true);
    expect(sums.reserved).toBe(RESERVATIONS * backend.samples);
  });
});
