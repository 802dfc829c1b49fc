import type { NamedPolicy } from './policy.ts';
import type { KeyState, Part } from './store.ts';

/** The contents of a key, whichever version of its policies wrote it. */
export type Contents = Pick<KeyState, 'blockedUntilMs' | 'states' | 'denials'>;

/** Whether nothing is stored: the key is as if it had never been used, and not blocked. */
export function isUnused({ blockedUntilMs, states, denials }: Contents): boolean {
  return blockedUntilMs === 0 && denials === undefined && states.every((state) => state === undefined);
}

/** When the last of the slots that are held under a key expire; 0 where there are none. */
export function slotsEndAtMs({ policies }: Part['limit'], { states }: Pick<Contents, 'states'>): number {
  let atMs = 0;
  for (let j = 0; j < policies.length; j++) {
    const { algorithm, policy } = policies[j] as NamedPolicy;
    if (algorithm.renew !== undefined && states[j] !== undefined) {
      atMs = Math.max(atMs, algorithm.resetAtMs(policy, states[j]));
    }
  }
  return atMs;
}

/** The instant from which the key is as if it had never been used. */
export function keyResetAtMs(limit: Part['limit'], { blockedUntilMs, states, denials }: Contents): number {
  let atMs = Math.max(blockedUntilMs, denials?.forgottenAtMs ?? 0);
  for (let j = 0; j < limit.policies.length; j++) {
    const state = states[j];
    const { algorithm, policy } = limit.policies[j] as NamedPolicy;
    if (state !== undefined) atMs = Math.max(atMs, algorithm.resetAtMs(policy, state));
  }
  return atMs;
}
