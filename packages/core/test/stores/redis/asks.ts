import { fixedWindow } from '../../../src/policies/fixed-window.ts';
import type { Policy } from '../../../src/policies/index.ts';
import type { Answer, Ask, Store } from '../../../src/stores/store.ts';

export const five: Policy = fixedWindow({ limit: 5, window: '1h' });

export function ask(subject: string, policy: Policy = five, cost = 1): Ask {
  return { key: `{${subject}}:default`, policy, cost };
}

/** Whether each request was allowed. */
export function allowed(...answers: readonly Answer[]): boolean[] {
  return answers.map(({ figures }) => figures.every((of) => of[0] === 1));
}

/** Units that the key of each ask has left, past the cache. */
export async function remaining(store: Store, ...asks: readonly Ask[]): Promise<(number | undefined)[]> {
  const { figures } = await store.perform('peek', asks);
  return figures.map((of) => of[1]);
}

/** The error with which a promise rejects. */
export async function failure(promise: Promise<unknown> | Answer): Promise<unknown> {
  const answer = await Promise.resolve(promise).catch((error: unknown) => ({ error }));
  if (!(typeof answer === 'object' && answer !== null && 'error' in answer)) throw new Error('it did not reject');
  return answer.error;
}
