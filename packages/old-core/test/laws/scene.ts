import fc from 'fast-check';
import {
  createLimiter,
  escalate,
  type Decision,
  type Escalation,
  type Limiter,
  type Policy,
  type PolicyDecision,
  type Reservation,
  type Store,
} from '@sluice/old-core';
import { cases, fakeClock, seeded, take, testSeed, type FakeClock, type Random } from '@sluice/testkit';
import { countingPolicies } from './models/fixed-window.ts';
import { references } from './models/index.ts';
import { START_MS, nextInstant, nextStep } from '../traces/step.ts';
import type { Backend } from './backends.ts';

/** A limiter with a past: some random steps were taken on its one key. */
export interface Scene {
  readonly limiter: Limiter;
  readonly store: Store;
  readonly key: string;
  readonly clock: FakeClock;
  /** Continues where the past ended. */
  readonly random: Random;
  /** The events of the key, in order: units consumed, or (negative) refunded. */
  readonly events: readonly { readonly atMs: number; readonly units: number }[];
}

/** Describes a scene, so that fast-check can print it and shrink its past. */
export interface ScenePlan {
  readonly policies: readonly Policy[];
  readonly steps: number;
  readonly seed: number;
  /** The escalation of denials. */
  readonly escalation?: Escalation | undefined;
}

export interface Past {
  readonly clockGoesBack?: boolean;
  /** Whether the past has refunds. Default true. */
  readonly refunds?: boolean;
  /** Whether it has units that were charged afterwards. Default true. */
  readonly charges?: boolean;
  /** Whether it has resets and blocks. Default true. */
  readonly edits?: boolean;
}

export const seed = testSeed(42);
export const anyPolicy = fc.oneof(...references.map(({ policies }) => policies));
const lists = fc.array(anyPolicy, { minLength: 2, maxLength: 3 });

export function scenes(policies: fc.Arbitrary<readonly Policy[]>, steps = 40): fc.Arbitrary<ScenePlan> {
  return fc.record({ policies, steps: fc.integer({ min: 0, max: steps }), seed: fc.nat() });
}

/** Scenes of one policy of each algorithm, and of lists of any. */
export const sceneKinds: readonly { readonly kind: string; readonly plans: fc.Arbitrary<ScenePlan> }[] = [
  ...references.map(({ algorithm, policies }) => ({
    kind: algorithm,
    plans: scenes(policies.map((policy) => [policy])),
  })),
  { kind: 'several policies', plans: scenes(lists) },
];

/** Scenes whose denials are counted, and lead to blocks. */
export const escalatedScenes: fc.Arbitrary<ScenePlan> = fc.record({
  policies: fc.array(anyPolicy, { minLength: 1, maxLength: 2 }),
  steps: fc.integer({ min: 0, max: 40 }),
  seed: fc.nat(),
  escalation: fc
    .record({
      after: fc.integer({ min: 1, max: 4 }),
      block: fc.oneof(
        fc.constantFrom(1, 20, 1_000, 60_000, 3_600_000),
        fc.array(fc.constantFrom(1, 50, 2_000, 86_400_000), { minLength: 1, maxLength: 3 }),
      ),
      decay: fc.constantFrom(1, 20, 1_000, 60_000, 86_400_000),
    })
    .map((options) => escalate(options)),
});

/** Scenes with a policy that counts what it denies, alone and beside another. */
export const countingScenes: fc.Arbitrary<ScenePlan> = scenes(
  fc.oneof(
    countingPolicies.map((policy) => [policy]),
    fc.tuple(countingPolicies, anyPolicy),
    fc.tuple(anyPolicy, countingPolicies),
  ),
);

export function countsDenied({ policies }: ScenePlan): boolean {
  return policies.some((policy) => policy.algorithm === 'fixedWindow' && policy.countDenied === true);
}

/** For laws that hold whatever a denial adds to what is used. */
export const sceneKindsThatCount: typeof sceneKinds = [
  ...sceneKinds,
  { kind: 'a policy that counts what it denies', plans: countingScenes },
];

/** For laws that also hold when denials change the state. */
export const allSceneKinds: typeof sceneKinds = [
  ...sceneKindsThatCount,
  { kind: 'with escalation', plans: escalatedScenes },
];

let made = 0;

/** Makes the scene, and plays its past. */
export async function open(
  backend: Backend,
  { policies, steps, seed: own, escalation }: ScenePlan,
  past: Past = {},
): Promise<Scene> {
  const clock = fakeClock(START_MS);
  const store = backend.store(clock);
  const limiter = limiterOf(policies, store, escalation);
  const scene = { limiter, store, key: `scene-${String(made++)}`, clock, random: seeded(own), events: [] };
  const isAny = (name: string): boolean => policies.some(({ algorithm }) => algorithm === name);
  await wander(scene, steps, { ...past, isPaced: isAny('leakyBucket'), isOfKeys: !isAny('concurrency') });
  return scene;
}

/** A limiter of these policies. Several on one store share their state. */
export function limiterOf(policies: readonly Policy[], store: Store, escalation?: Escalation): Limiter {
  const named = policies.map((policy, i) => ({ ...policy, name: `p${String(i)}` }));
  const policy = policies.length === 1 ? (policies[0] as Policy) : named;
  const how = { shared: true, store, onStoreError: 'throw', timeoutMs: 60_000 } as const;
  return createLimiter({ name: 'law', policy, escalate: escalation, ...how });
}

async function wander(
  scene: Scene,
  steps: number,
  {
    clockGoesBack = false,
    refunds = true,
    charges = true,
    edits = true,
    isPaced,
    isOfKeys,
  }: Past & { readonly isPaced: boolean; readonly isOfKeys: boolean },
): Promise<void> {
  const { limiter, key, clock, random } = scene;
  const events = scene.events as { atMs: number; units: number }[];
  const reservations: Reservation[] = [];
  for (let i = 0; i < steps; i++) {
    const seen = await limiter.peek(key);
    const surroundings = {
      lastSeen: [random.pick(seen.policies as [PolicyDecision])],
      taken: reservations.map((_, at) => at),
      mayGoBack: clockGoesBack,
    };
    clock.atMs = nextInstant(random, clock.atMs, surroundings);
    const step = nextStep(random, surroundings);
    switch (step.op) {
      case 'consume': {
        const cost = step.parts[0]?.cost ?? 0;
        if (cost === 0) break;
        const reservation = await reserve(limiter, key, cost);
        const { decision } = reservation;
        if (decision.allowed) {
          reservations.push(reservation);
          events.push({ atMs: clock.atMs, units: decision.cost });
        }
        break;
      }
      case 'refund': {
        if (!refunds) break;
        const [{ decision }] = reservations.splice(step.of, 1) as [Reservation];
        const before = await limiter.peek(key, 0);
        await limiter.refund(decision, Math.min(step.cost, decision.cost));
        const after = await limiter.peek(key, 0);
        // At most what was missing; neither a debt nor a part of a queued unit shows in what remains.
        const missing = before.remaining > 0 ? before.limit - before.remaining + (isPaced ? 1 : 0) : decision.cost;
        const taken = after.resetAfterMs < before.resetAfterMs || after.remaining > before.remaining;
        if (taken) events.push({ atMs: clock.atMs, units: -Math.min(step.cost, decision.cost, missing) });
        break;
      }
      case 'charge': {
        if (!charges) break;
        const [reservation] = reservations.splice(step.of, 1) as [Reservation];
        await reservation.settle(Math.min(reservation.decision.cost + step.cost, Number.MAX_SAFE_INTEGER));
        break;
      }
      case 'refund key': {
        if (!refunds || !isOfKeys) break;
        const { used } = await limiter.peek(key, 0);
        await limiter.refund(key, step.cost);
        if (used > 0) events.push({ atMs: clock.atMs, units: -Math.min(step.cost, used) });
        break;
      }
      case 'charge key':
        if (charges && isOfKeys) await limiter.charge(key, step.cost);
        break;
      case 'block':
        if (edits) await limiter.block(key, step.durationMs, { reset: step.reset });
        break;
      case 'unblock':
        if (edits) await limiter.unblock(key);
        break;
      case 'reset':
        if (edits) await limiter.reset(key);
        break;
      case 'peek':
        break;
    }
  }
}

/** Reserves or, where policies hold slots, acquires for a new holder, and refunds what is not needed. */
async function reserve(limiter: Limiter, key: string, cost: number): Promise<Reservation> {
  try {
    return await limiter.reserve(key, cost);
  } catch (error) {
    if ((error as { code?: string }).code !== 'SLUICE_ACQUIRE_NEEDED') throw error;
    const { decision } = await limiter.acquire(key, { cost });
    const settle = async (actual: number): Promise<void> => limiter.refund(decision, Math.max(cost - actual, 0));
    return { decision, settle, cancel: async () => settle(0) };
  }
}

/** A cost around what is left, or around the most at once. */
export function someCost({ random }: Scene, decision: Decision): number {
  const { remaining, limit } = random.pick(decision.policies as [PolicyDecision]);
  return Math.max(
    random.pick([1, 1, 2, remaining, remaining + 1, limit, limit + 1, limit + 3, Math.ceil(limit / 2), 2 * limit]),
    1,
  );
}

/** Brings the scene to a denial if one is possible, and returns the request and its decision. */
export async function denial(scene: Scene): Promise<{ cost: number; decision: Decision } | undefined> {
  for (let attempt = 0; attempt < 12; attempt++) {
    const cost = someCost(scene, await scene.limiter.peek(scene.key, 0));
    const decision = await take(scene.limiter, scene.key, cost);
    if (!decision.allowed) return { cost, decision };
  }
  return undefined;
}

/** Runs a property over this many scenes (see `cases`), with the seed of this run. */
export async function forAll(
  plans: fc.Arbitrary<ScenePlan>,
  runs: number,
  law: (plan: ScenePlan) => Promise<void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(plans, law), { numRuns: cases(runs), seed, verbose: fc.VerbosityLevel.None });
}
