import type { KeyState } from './evaluate.ts';
import type { ShownKey, StoreAnswer } from './store.ts';

/** An answer that shows its keys where it refuses. */
export function showing(answer: StoreAnswer, keys: readonly KeyState[]): StoreAnswer {
  const isRefused = answer.parts.some(({ blocked, policies }) => blocked || policies.some(({ allowed }) => !allowed));
  return isRefused ? { ...answer, shown: keys.map(shownKey) } : answer;
}

/** As it stands now: later requests of the call may change it. */
function shownKey({ blockedUntilMs, states, version }: KeyState): ShownKey {
  return { blockedUntilMs, states, ...(version === undefined ? {} : { version }) };
}
