import type { NamedPolicy } from './policy.ts';
import { dropExpired } from './denial-count.ts';
import type { CarryOver, EarlierVersion, PolicyVersion, Limit, Part, StoreRequest, KeyState } from './store.ts';

/**
 * Converts the states of a request's keys to the versions of its limits, in place. The twin of `versions.lua`.
 *
 * @returns Undefined when the request can go on. Per part the version found, when a limit does not know the version of
 * its state: the request stops.
 */
export function migrateStates(
  request: StoreRequest,
  keys: readonly KeyState[],
  nowMs: number,
): readonly (number | undefined)[] | undefined {
  const parts = 'parts' in request ? request.parts : [request.part];
  const found = parts.map(({ limit }, i) =>
    limit.policyVersion === undefined ? undefined : versionOf(keys[i] as KeyState),
  );
  // All of them: convertible states are converted whatever happens to the request.
  const known = parts.map(({ limit }, i) =>
    limit.policyVersion === undefined ? true : migrateKey(keys[i] as KeyState, limit, limit.policyVersion, nowMs),
  );
  return known.includes(false) ? found : undefined;
}

/** Whether any part's states say which policyVersion wrote them. */
export function hasPolicyVersions(parts: readonly Part[]): boolean {
  return parts.some(({ limit }) => limit.policyVersion !== undefined);
}

function versionOf(key: KeyState): number | undefined {
  return isWithoutStates(key) ? undefined : key.version;
}

function isWithoutStates({ states }: KeyState): boolean {
  return states.every((state) => state === undefined);
}

function migrateKey(key: KeyState, { policies }: Limit, policyVersion: PolicyVersion, nowMs: number): boolean {
  if (isWithoutStates(key)) key.version = policyVersion.version;
  const { version = 0 } = key;
  if (version === policyVersion.version) return true;
  const earlier = policyVersion.earlier.get(version);
  if (earlier === undefined) return false; // later versions are unknown, except where all are known
  key.states = policies.map((to, j) =>
    earlier === 'unknown'
      ? usedUp(to, nowMs)
      : carried(earlier.policies[j] as NamedPolicy, key.states[j], to, earlier.carryOver, nowMs),
  );
  key.version = policyVersion.version;
  dropExpired(key, nowMs); // as with every write
  key.touched = true;
  return true;
}

function usedUp(to: NamedPolicy, nowMs: number): unknown {
  const units = to.algorithm.numbers(to.policy)[0] as number; // that can be had at once
  return units === 0 ? undefined : to.algorithm.migrate(to.policy, units, nowMs);
}

function carried(from: NamedPolicy, state: unknown, to: NamedPolicy, carryOver: CarryOver, nowMs: number): unknown {
  if (state === undefined || carryOver === 'reset') return undefined;
  const units = from.algorithm.used(from.policy, state, nowMs);
  if (units === 0) return undefined;
  const same = from.algorithm === to.algorithm ? { policy: from.policy, state } : undefined;
  return to.algorithm.migrate(to.policy, units, nowMs, same);
}

/** Complete policy versions: a version that is not listed, and earlier than a given one, is `unknown`. */
export class AllEarlier extends Map<number, EarlierVersion | 'unknown'> {
  readonly #than: number;

  constructor(known: readonly (readonly [number, EarlierVersion | 'unknown'])[] = [], than: number = Infinity) {
    super(known);
    this.#than = than;
  }

  override get(version: number): EarlierVersion | 'unknown' | undefined {
    return super.get(version) ?? (version < this.#than ? 'unknown' : undefined);
  }
}
