import type { StoreAnswer } from '@sluice/old-core';
import type { Random } from '@sluice/testkit';
import type { Paths } from './paths.ts';
import { nextInstant, nextStep, type Surroundings } from './step.ts';

export interface Walk {
  readonly steps: number;
  /** The most steps of one call. */
  readonly batch?: number;
  readonly mayGoBack: boolean;
}

/** Steps whose answers from Redis are waited for together. */
const AHEAD = 250;

/** Runs a random trace on all paths. */
export async function walk(
  paths: Paths,
  random: Random,
  { steps, batch = 1, mayGoBack }: Walk,
): Promise<readonly StoreAnswer[]> {
  const answers: StoreAnswer[] = [];
  for (let done = 0; done < steps;) {
    const surroundings: Surroundings = {
      lastSeen: paths.lastSeen(),
      taken: paths.taken,
      mayGoBack,
      forgottenAfterMs: paths.forgottenAfterMs(),
    };
    const atMs = nextInstant(random, paths.clock.atMs, surroundings);
    const count = Math.min(random.integer(1, batch), steps - done);
    answers.push(
      ...paths.perform(
        Array.from({ length: count }, () => nextStep(random, surroundings)),
        atMs,
      ),
    );
    done += count;
    if (done % AHEAD < count) await paths.settle();
  }
  await paths.settle();
  return answers;
}
