import type { Policy } from '@sluice/core';
import { createPolicies, type OverrideTarget, type Policies } from '@sluice/core/managed';
import { MAKERS, shown } from '@sluice/core/spi';
import { makePolicy } from '../config/policy-value.ts';
import type { Service } from '../service.ts';
import { badRequest, RequestProblem } from '../transport/request-problem.ts';

/** The fields of a body. */
export type Fields = Readonly<Record<string, unknown>>;

/** How many overrides one answer lists. */
const MAX_LISTED = 1000;

/** Overrides of the managed limits of the configuration. Other limits have none. */
export class Overrides {
  readonly #service: Service;
  #policies: Policies | undefined;

  constructor(service: Service) {
    this.#service = service;
  }

  async list({ limit }: Fields): Promise<unknown> {
    const { policies, name } = this.#find(limit);
    const overrides = await policies.overrides(name);
    return { overrides: overrides.slice(0, MAX_LISTED), hasMore: overrides.length > MAX_LISTED };
  }

  async put({ limit, key, prefix, policy, until, by, reason }: Fields): Promise<unknown> {
    const { policies, name } = this.#find(limit);
    const options = { until: typeof until === 'string' ? new Date(until) : until, by, reason };
    return policies.override(name, readTarget(key, prefix), readPolicy(policy), options as object);
  }

  async remove({ limit, key, prefix, by, reason }: Fields): Promise<unknown> {
    const { policies, name } = this.#find(limit);
    const removed = await policies.removeOverride(name, readTarget(key, prefix), { by, reason } as object);
    return { removed };
  }

  /** The name of the managed policy of a limit, and its source. */
  #find(limit: unknown): { readonly policies: Policies; readonly name: string } {
    const { configuration, core } = this.#service;
    const known = typeof limit === 'string' ? configuration.limits.get(limit) : undefined;
    if (known === undefined) throw badRequest(`there is no limit named ${shown(limit)}`);
    const name = known.mark?.name;
    if (name === undefined) {
      const what = `the limit ${String(limit)} is not managed: write managed: and the name of a policy`;
      throw new RequestProblem(409, `${what}; nothing was done`);
    }
    this.#policies ??= createPolicies(core.store);
    return { policies: this.#policies, name };
  }
}

function readTarget(key: unknown, prefix: unknown): OverrideTarget {
  if ((key === undefined) !== (prefix === undefined)) return (key ?? { prefix }) as OverrideTarget;
  throw badRequest('write either key or prefix');
}

/**
 * Reads a policy as files write it, `{ "fixedWindow": { "limit": 500, "window": "1m" } }`, or as answers contain it.
 */
function readPolicy(given: unknown): Policy {
  const [entry, ...others] = Object.entries(given ?? {}) as [string, unknown][];
  const [kind, options] = entry ?? [''];
  return others.length > 0 || !Object.hasOwn(MAKERS, kind) ? (given as Policy) : makePolicy(kind, options);
}
