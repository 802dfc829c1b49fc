import type { Store } from '@sluice/core';
import { writtenPolicy } from '@sluice/core/inspect';
import { isSource } from '@sluice/core/spi';
import { createPolicies, type ManagedPolicy, type Policies } from '@sluice/managed';
import { PageProblem } from './exchange.ts';
import { reasonOf, textOf, type Fields } from './fields.ts';
import type { History } from './history.ts';
import type { LiveLimiter } from './limits.ts';
import { optionsOf, withOptions } from './policy-options.ts';

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
    const policy = withOptions(current.policy, fields['options']);
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
