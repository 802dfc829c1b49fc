import type { Policy } from '@sluice/old-core';
import { policyFactories } from '@sluice/old-core/inspect';
import { createPolicies, type OverrideOptions, type OverrideTarget, type Policies } from '@sluice/old-managed';
import { RequestProblem } from '../../transport/request-problem.ts';
import type { Service } from '../../service.ts';
import { badRequest, shown, type Fields } from './fields.ts';

/** How many overrides one answer lists. */
const MOST_LISTED = 1000;
const KINDS = policyFactories.map(({ name }) => name).join(', ');

/** Overrides of the managed limits of a configuration. An override is kept where its limit is. */
export class LimitOverrides {
  readonly #service: Service;
  #policies: Policies | undefined;

  constructor(service: Service) {
    this.#service = service;
  }

  /** @param fields - Texts of the query. */
  async list(fields: Fields): Promise<unknown> {
    const { ended = 'false', startsWith } = fields;
    if (ended !== 'true' && ended !== 'false') throw badRequest(`ended must be true or false, got ${shown(ended)}`);
    const { policies, name } = this.#managed(fields['limit']);
    const found = await policies.overrides(name, {
      ended: ended === 'true',
      limit: MOST_LISTED + 1,
      startsWith: startsWith as string | undefined,
      concerning: fields['key'] === undefined && fields['prefix'] === undefined ? undefined : targetOf(fields),
    });
    return { overrides: found.slice(0, MOST_LISTED), hasMore: found.length > MOST_LISTED };
  }

  async put(fields: Fields): Promise<unknown> {
    const { limit, policy, until, by, reason, dryRun } = fields;
    const { policies, name } = this.#managed(limit);
    const options = { until: instantOf(until), by, reason, dryRun } as OverrideOptions;
    return policies.override(name, targetOf(fields), policyOf(policy), options);
  }

  /** @param fields - Texts of the query. */
  async remove(fields: Fields): Promise<unknown> {
    const { policies, name } = this.#managed(fields['limit']);
    const audit = { by: fields['by'], reason: fields['reason'] } as Pick<OverrideOptions, 'by' | 'reason'>;
    return { removed: await policies.removeOverride(name, targetOf(fields), audit) };
  }

  /**
   * The name of the managed policy of a limit, and its source.
   *
   * @param limit - Its name in the configuration.
   * @throws RequestProblem 404 for an unknown limit; 409 for one whose numbers are in the configuration.
   */
  #managed(limit: unknown): { readonly policies: Policies; readonly name: string } {
    const { configuration, store } = this.#service;
    const known = typeof limit === 'string' ? configuration.limits.get(limit) : undefined;
    if (known === undefined) throw new RequestProblem(404, `there is no limit named ${shown(limit)}; nothing was done`);
    const { policy } = known;
    if (policy.algorithm !== 'managed') {
      throw new RequestProblem(
        409,
        `the limit ${known.name} is of the configuration: write its overrides there; nothing was done`,
      );
    }
    this.#policies ??= createPolicies(store);
    return { policies: this.#policies, name: policy.name };
  }
}

function targetOf({ key, prefix }: Fields): OverrideTarget {
  if ((key === undefined) === (prefix === undefined)) throw badRequest('write either key or prefix');
  return key === undefined ? { prefix: prefix as string } : (key as string);
}

/** An instant as JSON has it: milliseconds since 1970, or a text such as 2027-01-01T00:00:00Z. */
function instantOf(until: unknown): unknown {
  if (typeof until !== 'string') return until;
  const atMs = Date.parse(until);
  if (Number.isNaN(atMs))
    throw badRequest(`until must be an instant such as 2027-01-01T00:00:00Z, got ${shown(until)}`);
  return atMs;
}

/** A policy as files write it, `{ "fixedWindow": { "limit": 500, "window": "1m" } }`, or as answers have it. */
function policyOf(given: unknown): Policy {
  const fields = typeof given === 'object' && given !== null ? given : {};
  if ('algorithm' in fields) return fields as Policy;
  const [entry, ...others] = Object.entries(fields) as [string, unknown][];
  const factory = policyFactories.find(({ name }) => name === entry?.[0]);
  if (factory === undefined || others.length > 0) {
    throw badRequest(`policy must be an object with one of ${KINDS} and its options, got ${shown(given)}`);
  }
  return factory.make(entry?.[1] as Readonly<Record<string, unknown>>);
}
