import type { Policy, Store } from '@sluice/core';
import { policyFactories, writtenPolicy } from '@sluice/core/inspect';
import { isSource, writtenDuration } from '@sluice/core/spi';
import { createPolicies, type ManagedPolicy, type Policies } from '@sluice/managed';
import { PageProblem } from './exchange.ts';
import { reasonOf, textOf, type Fields } from './fields.ts';
import type { History } from './history.ts';
import type { LiveLimiter } from './limits.ts';

/** A managed policy, as the page shows and edits it. */
export interface ShownPolicy {
  /** Which source it is in. */
  readonly source: number;
  readonly name: string;
  readonly text: string;
  readonly apps: readonly string[];
  readonly version: number;
  readonly changedAtMs: number;
  /** The options that can be edited, as a program writes them. */
  readonly options: Readonly<Record<string, string>>;
}

/** A change that can be made: the numbers before and after it. */
export interface PolicyChange {
  readonly before: ShownPolicy;
  readonly after: string;
  /** Whether it was made. */
  readonly isDone: boolean;
}

const LONGEST_NAME = 64;
const LONGEST_VALUE = 40;

/** The managed policies of the limiters that are shown. */
export class ManagedPolicies {
  static readonly fields: Readonly<Record<string, readonly string[]>> = {
    policies: [],
    policy: ['source', 'name', 'version', 'options', 'confirm', 'by', 'reason'],
  };
  readonly #given: Policies | undefined;
  readonly #cores: () => readonly LiveLimiter[];
  readonly #history: History;
  readonly #byStore = new Map<Store, Policies>();

  constructor(given: Policies | undefined, cores: () => readonly LiveLimiter[], history: History) {
    this.#given = given;
    this.#cores = cores;
    this.#history = history;
  }

  async list(): Promise<readonly ShownPolicy[]> {
    const lists = await Promise.all(
      this.#sources().map(async (policies, source) => (await policies.list()).map((one) => shown(one, source))),
    );
    return lists.flat();
  }

  /**
   * Compares, and where `confirm` is true changes a policy that is still the version that the operator saw. (Two changes
   * within the same milliseconds are not told apart: the second one is made.)
   *
   * @throws (rejects) PageProblem 409 if the policy was changed since; PolicyError for wrong numbers.
   */
  async change(fields: Fields, operator: string | undefined): Promise<PolicyChange> {
    const { by, reason } = reasonOf(fields, operator);
    const name = textOf(fields, 'name', LONGEST_NAME);
    const policies = this.#sources()[Number(fields['source'])];
    const current = await policies?.get(name);
    if (policies === undefined || current === undefined) {
      throw new PageProblem(404, `there is no managed policy ${JSON.stringify(name)}; nothing was done`);
    }
    const before = shown(current, Number(fields['source']));
    if (current.version !== fields['version']) {
      throw new PageProblem(409, `${name} was changed meanwhile: it is ${before.text} now; nothing was done`);
    }
    const policy = made(current.policy, fields['options']);
    const isDone = fields['confirm'] === true;
    const after = writtenPolicy(policy);
    await policies.put(name, policy, { apps: current.apps, dryRun: !isDone });
    if (isDone) {
      this.#history.add({ by, reason, action: 'change policy', target: name, detail: `${before.text} -> ${after}` });
    }
    return { before, after, isDone };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byStore.values()].map(async (policies) => policies.close()));
  }

  /** What was given, or the Redis of each limiter that uses a managed policy. */
  #sources(): readonly Policies[] {
    if (this.#given !== undefined) return [this.#given];
    for (const { store, limits } of this.#cores()) {
      if (this.#byStore.has(store) || store.source !== 'redis' || !limits.known.some(isSource)) continue;
      this.#byStore.set(store, createPolicies(store));
    }
    return [...this.#byStore.values()];
  }
}

function shown({ name, policy, apps, version, changedAtMs }: ManagedPolicy, source: number): ShownPolicy {
  return { source, name, text: writtenPolicy(policy), apps, version, changedAtMs, options: optionsOf(policy) };
}

/** The options from which a policy can be made again; none for one that is made in another way. */
function optionsOf(policy: Policy): Readonly<Record<string, string>> {
  const values = policy as unknown as Readonly<Record<string, unknown>>;
  const factory = policyFactories.find(({ name }) => name === policy.algorithm);
  return Object.fromEntries(
    Object.keys(factory?.options ?? {}).flatMap((name) => {
      const ms = values[`${name}Ms`];
      const value = values[name] ?? (typeof ms === 'number' ? writtenDuration(ms) : undefined);
      const isValue = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
      return isValue ? [[name, String(value)]] : [];
    }),
  );
}

/** The policy with other options. */
function made(policy: Policy, given: unknown): Policy {
  const factory = policyFactories.find(({ name }) => name === policy.algorithm);
  if (factory === undefined) throw new PageProblem(400, 'this kind of policy is changed with `sluice policy put`');
  if (typeof given !== 'object' || given === null) throw new PageProblem(400, 'options must be an object');
  const options = Object.entries({ ...optionsOf(policy), ...given }).map(([name, value]: [string, unknown]) => {
    if (typeof value === 'string' && value.length <= LONGEST_VALUE) return [name, valueOf(value.trim())] as const;
    throw new PageProblem(400, `the option ${JSON.stringify(name.slice(0, LONGEST_NAME))} must be a short text`);
  });
  return factory.make(Object.fromEntries(options));
}

/** A value as a program writes it. */
function valueOf(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^\d+$/.test(text) ? Number(text) : text;
}
