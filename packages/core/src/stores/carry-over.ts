import { LARGEST_LIMIT } from '../numbers.ts';
import type { NamedPolicy } from '../policy.ts';
import { dropWhatIsOver } from './escalation.ts';
import type { KeyState } from './evaluate.ts';
import type { CarryOver, EarlierEdition, Edition, Limit, Part, StoreRequest } from './store.ts';

/**
 * Brings the states of a request's keys into the editions of its limits, in place. The twin of redis/frame/editions.lua.
 *
 * @returns Per part the version found, when some part's state is of an edition that its limit does not know: then the
 * request stops. Undefined when it goes on.
 */
export function bringOver(
  request: StoreRequest,
  keys: readonly KeyState[],
  nowMs: number,
): readonly (number | undefined)[] | undefined {
  const parts = 'parts' in request ? request.parts : [request.part];
  const found = parts.map(({ limit }, i) => (limit.edition === undefined ? undefined : versionOf(keys[i] as KeyState)));
  // All of them: those that can go over do, whatever becomes of the request.
  const known = parts.map(({ limit }, i) =>
    limit.edition === undefined ? true : bringKeyOver(keys[i] as KeyState, limit, limit.edition, nowMs),
  );
  return known.includes(false) ? found : undefined;
}

/** Whether any part's states say which edition wrote them. */
export function hasEditions(parts: readonly Part[]): boolean {
  return parts.some(({ limit }) => limit.edition !== undefined);
}

function versionOf(key: KeyState): number | undefined {
  return isWithoutStates(key) ? undefined : key.version;
}

function isWithoutStates({ states }: KeyState): boolean {
  return states.every((state) => state === undefined);
}

function bringKeyOver(key: KeyState, { policies }: Limit, edition: Edition, nowMs: number): boolean {
  if (isWithoutStates(key)) key.version = edition.version;
  const { version = 0 } = key;
  if (version === edition.version) return true;
  const earlier = edition.earlier.get(version);
  if (earlier === undefined) return false; // nobody knows of later ones, but where all are known
  key.states = policies.map((to, j) =>
    earlier === 'unknown'
      ? to.algorithm.carry(to.policy, limitOf(to), nowMs)
      : carried(earlier.policies[j] as NamedPolicy, key.states[j], to, earlier.carryOver, nowMs),
  );
  key.version = edition.version;
  dropWhatIsOver(key, nowMs); // as with every write
  key.touched = true;
  return true;
}

function carried(from: NamedPolicy, state: unknown, to: NamedPolicy, carryOver: CarryOver, nowMs: number): unknown {
  if (state === undefined || carryOver === 'reset') return undefined;
  const used = from.algorithm.used(from.policy, state, nowMs);
  const units = carryOver === 'keep' ? used : Math.min(Math.ceil((used * limitOf(to)) / limitOf(from)), LARGEST_LIMIT);
  if (units === 0) return undefined;
  const same = from.algorithm === to.algorithm ? { policy: from.policy, state } : undefined;
  return to.algorithm.carry(to.policy, units, nowMs, same);
}

/** The units that can be had at once: the first of a policy's numbers. */
function limitOf({ algorithm, policy }: NamedPolicy): number {
  return algorithm.numbers(policy)[0] as number;
}

/** Editions of which none is missing: of what is not among them, if it is earlier than a version, nobody knows any more. */
export class AllEarlier extends Map<number, EarlierEdition | 'unknown'> {
  readonly #than: number;

  constructor(known: readonly (readonly [number, EarlierEdition | 'unknown'])[] = [], than: number = Infinity) {
    super(known);
    this.#than = than;
  }

  override get(version: number): EarlierEdition | 'unknown' | undefined {
    return super.get(version) ?? (version < this.#than ? 'unknown' : undefined);
  }
}
