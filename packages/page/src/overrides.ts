import { describePolicy, parsePolicy, type Policy } from '@sluice/core';
import { createPolicies, type Policies, type PolicyOverride } from '@sluice/core/managed';
import { findConnection, writeDuration } from '@sluice/core/spi';
import { PageProblem } from './exchange.ts';
import type { Reason } from './fields.ts';
import type { KeyState } from './key-actions.ts';
import type { LimitedKey } from './limits.ts';

/** The managed policy of a key, the numbers that apply to the key, and its override. */
export interface ManagedNumbers {
  readonly name: string;
  /** The numbers that apply. */
  readonly text: string;
  readonly options: Readonly<Record<string, string>>;
  /** The override of this key itself; null if its numbers come from the policy or from a prefix. */
  readonly override: Pick<PolicyOverride, 'untilMs' | 'by' | 'reason'> | null;
}

interface Managed {
  readonly name: string;
  readonly policies: Policies;
  readonly base: Policy;
  readonly current: Policy;
}

const MAX_VALUE = 40;

/** The numbers of a key if they can be overridden, otherwise null. */
export async function readManaged(key: LimitedKey): Promise<ManagedNumbers | null> {
  const managed = await findManaged(key);
  if (managed === undefined) return null;
  const { name, policies, base, current } = managed;
  // Few keys have overrides, and there may be many overrides.
  const all = current === base ? [] : await policies.overrides(name);
  const own = all.find(({ target }) => target === key.subject);
  const override = own === undefined ? null : { untilMs: own.untilMs, by: own.by, reason: own.reason };
  return { name, text: describePolicy(current), options: writeOptions(current), override };
}

/** A change that can be made, and how its effect is seen. */
export interface Plan {
  /** Before it and afterwards, in words. */
  readonly before: string | null;
  readonly after: string | null;
  readonly make: () => Promise<unknown>;
  readonly isDone: (state: KeyState) => boolean;
}

/**
 * Plans an override with other numbers of the same kind.
 *
 * @param lengthMs - How long; undefined: without an end.
 * @throws (rejects) PageProblem 409 if the numbers cannot be changed; PolicyError for wrong numbers.
 */
export async function planOverride(
  key: LimitedKey,
  options: unknown,
  reason: Reason,
  lengthMs: number | undefined,
): Promise<Plan> {
  const { name, policies, current } = await findManagedWhole(key);
  const policy = readOptions(current, options);
  const text = describePolicy(policy);
  const until = lengthMs === undefined ? undefined : Date.now() + lengthMs;
  return {
    before: describePolicy(current),
    after: lengthMs === undefined ? text : `${text} for ${writeDuration(lengthMs)}`,
    make: () => policies.override(name, key.key, policy, { until, ...reason }),
    isDone: ({ managed }) => managed?.text === text,
  };
}

/**
 * Plans to end the override of a key.
 *
 * @throws (rejects) PageProblem 409 if there is none.
 */
export async function planEnd(key: LimitedKey, reason: Reason): Promise<Plan> {
  const { name, policies, current, base } = await findManagedWhole(key);
  const make = async (): Promise<void> => {
    if (await policies.removeOverride(name, key.key, { ...reason })) return;
    throw new PageProblem(409, 'this key has no override of its own; nothing was done');
  };
  const isDone = ({ managed }: KeyState): boolean => managed?.override === null;
  return { before: describePolicy(current), after: describePolicy(base), make, isDone };
}

async function findManaged({ core: { context }, limit, key }: LimitedKey): Promise<Managed | undefined> {
  const name = limit.mark?.name;
  if (name === undefined) return undefined;
  const isRedis = findConnection(context.store) !== undefined;
  const policies = (context.policies as Policies | undefined) ?? (isRedis ? createPolicies(context.store) : undefined);
  const base = await policies?.get(name);
  const [counted] = await limit.read(key);
  if (policies === undefined || base === undefined || counted === undefined) return undefined;
  return { name, policies, base: base.policy, current: counted.policy };
}

/** @throws (rejects) PageProblem 409 unless a key has a managed policy and its whole text is known. */
async function findManagedWhole(key: LimitedKey): Promise<Managed> {
  const managed = await findManaged(key);
  if (managed === undefined)
    throw new PageProblem(
      409,
      'the numbers of this limit are in code: give it a managed policy first; nothing was done',
    );
  if (key.key.length === key.length) return managed;
  throw new PageProblem(409, 'only part of this long key is known: look it up by its full text; nothing was done');
}

/** The options from which a policy can be created again, as strings. */
function writeOptions(policy: Policy): Readonly<Record<string, string>> {
  const fields = Object.entries(policy).filter(([name]) => name !== 'algorithm' && name !== 'name');
  return Object.fromEntries(
    fields.map(([name, value]) =>
      name.endsWith('Ms') ? [name.slice(0, -2), writeDuration(value as number)] : [name, String(value)],
    ),
  );
}

/**
 * The policy with other options.
 *
 * @throws PageProblem 400; PolicyError for wrong values.
 */
function readOptions(policy: Policy, given: unknown): Policy {
  const options = Object.entries({ ...writeOptions(policy), ...(given as object | null | undefined) });
  const read = options.map(([name, value]: [string, unknown]) => {
    if (typeof value === 'string' && value.length <= MAX_VALUE)
      return [name, /^-?\d+$/.test(value) ? Number(value) : value];
    const expected = `a string of at most ${String(MAX_VALUE)} characters`;
    throw new PageProblem(400, `options.${name.slice(0, MAX_VALUE)} must be ${expected}; nothing was done`);
  });
  return parsePolicy({ algorithm: policy.algorithm, ...Object.fromEntries(read) });
}
