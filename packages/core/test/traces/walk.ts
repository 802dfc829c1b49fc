import type { StoreAnswer } from '@sluice/core';
import type { Random } from '@sluice/testkit';
import type { Lanes } from './lanes.ts';
import { nextInstant, nextStep, type Surroundings } from './step.ts';

export interface Walk {
  readonly steps: number;
  /** The most steps of one call. */
  readonly batch?: number;
  readonly mayGoBack: boolean;
}

/** Steps whose answers from Redis are waited for together. */
const AHEAD = 250;

/** Walks a random trace through all lanes. */
export async function walk(
  lanes: Lanes,
  random: Random,
  { steps, batch = 1, mayGoBack }: Walk,
): Promise<readonly StoreAnswer[]> {
  const answers: StoreAnswer[] = [];
  for (let done = 0; done < steps;) {
    const surroundings: Surroundings = {
      lastSeen: lanes.lastSeen(),
      taken: lanes.taken,
      mayGoBack,
      forgottenAfterMs: lanes.forgottenAfterMs(),
    };
    const atMs = nextInstant(random, lanes.clock.atMs, surroundings);
    const count = Math.min(random.integer(1, batch), steps - done);
    answers.push(
      ...lanes.perform(
        Array.from({ length: count }, () => nextStep(random, surroundings)),
        atMs,
      ),
    );
    done += count;
    if (done % AHEAD < count) await lanes.settle();
  }
  await lanes.settle();
  return answers;
}
