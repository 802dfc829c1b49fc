import type { Escalation } from '../escalate.ts';
import { PolicyError, staleError } from '../errors.ts';
import type { NamedPolicy } from '../policy.ts';
import { AllEarlier } from '../stores/carry-over.ts';
import { withStandIn } from '../stores/local-store.ts';
import type { EarlierEdition, Limit } from '../stores/store.ts';
import { warnOnce } from '../warnings.ts';
import { earlierEdition, isResetSince, type Definition } from './definition.ts';
import type { Definitions } from './definitions.ts';
import type { PolicyRecord } from './policy-source.ts';

/** What becomes of a request whose policy is not there, or not for this application. */
export type OnUnconfigured = 'allow' | 'deny';

export interface ManagedLimitOptions {
  /** The policy's name in the source, and what decisions call it. */
  readonly policy: string;
  readonly name: string;
  readonly app: string;
  readonly definitions: Definitions;
  readonly onUnconfigured: OnUnconfigured;
  readonly localShare: number;
  readonly escalation: Escalation | undefined;
  readonly denialAgeMs: number;
  /** Refuses what the store cannot count. */
  readonly check: (limit: Limit) => void;
}

/** Names may be what callers say: so many are told of, and no more are remembered. */
const MOST_TOLD = 1000;
let told = 0;

/** Stands in keys for "managed", where plain limits have the letters of their algorithms. */
const SCHEMA = '1m';

type Usable = Extract<Definition, { state: 'usable' }>;

/**
 * A limit whose policy is looked up when it is asked for: it changes while the process runs. Its key holds the policy's
 * name and no numbers, kinds or limiters, so that everybody who uses the policy counts in the same states.
 */
export class ManagedLimit {
  readonly scope: string;
  /** As of a {@link Limit}: its policies change while it lives. */
  readonly plain = false;
  readonly #options: ManagedLimitOptions;
  #definition: Definition | undefined | null = null;
  #limit: Limit | undefined;

  constructor(options: ManagedLimitOptions) {
    this.#options = options;
    this.scope = `:${options.policy}:${SCHEMA}`;
  }

  get name(): string {
    return this.#options.name;
  }

  get onUnconfigured(): OnUnconfigured {
    return this.#options.onUnconfigured;
  }

  get definitions(): Definitions {
    return this.#options.definitions;
  }

  /** The limit as things stand, the same object until they change; none where the policy may not be used here. */
  current(): Limit | undefined {
    const { definitions, policy } = this.#options;
    const definition = definitions.get(policy);
    if (definition !== this.#definition) {
      this.#definition = definition;
      this.#limit = this.#limitOf(definition);
    }
    return this.#limit;
  }

  #limitOf(definition: Definition | undefined): Limit | undefined {
    const why = this.#whyNot(definition);
    if (why !== undefined) {
      this.#warn(why, this.#howToPut());
      return undefined;
    }
    try {
      return this.#usableLimit(definition as Usable);
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      this.#warn(error.message, 'put one that can be counted here');
      return undefined;
    }
  }

  #whyNot(definition: Definition | undefined): string | undefined {
    switch (definition?.state) {
      case undefined:
        return 'there is no such policy';
      case 'removed':
        return 'it was removed';
      case 'newer':
      case 'broken':
        return definition.why;
      case 'usable':
        return definition.record.apps.includes(this.#options.app) ? undefined : 'this application is not on its list';
    }
  }

  #usableLimit({ version, record, named }: Usable): Limit {
    const { name, localShare, escalation, denialAgeMs, check } = this.#options;
    const [before] = record.earlier.filter(({ policy }) => policy !== undefined);
    const own: NamedPolicy = { ...named, name };
    const limit: Limit = {
      policies: [own],
      scope: this.scope,
      denialAgeMs,
      ...(escalation === undefined ? {} : { escalation }),
      edition: {
        version,
        // The last one goes along with every call; what is older is sent when a state of it is met.
        earlier: new Map(before === undefined ? [] : [[before.version, this.#earlier(record, before.version)]]),
        renew: (found, since) => this.#renew(found, since),
      },
    };
    check(limit);
    return { ...limit, standIn: this.#standIn(limit, record, localShare) };
  }

  /** In memory there is no sending: all that is known of earlier versions goes along. */
  #standIn(limit: Limit, record: PolicyRecord, localShare: number): Limit {
    const sharedOf = (policies: readonly NamedPolicy[]): readonly NamedPolicy[] =>
      withStandIn({ policies, scope: limit.scope }, localShare).standIn?.policies ?? policies;
    const earlier = record.earlier.map(({ version }): [number, EarlierEdition | 'unknown'] => {
      const edition = this.#earlier(record, version);
      if (edition === 'unknown') return [version, edition];
      try {
        return [version, { ...edition, policies: sharedOf(edition.policies) }];
      } catch {
        return [version, 'unknown']; // a share of it cannot be counted
      }
    });
    const version = limit.edition?.version ?? 0;
    const renew = (_found: number | undefined, since?: number): Promise<Limit | undefined> => {
      const current = this.current();
      return Promise.resolve(this.#isForgotten(since) ? undefined : current?.standIn);
    };
    return {
      ...limit,
      policies: sharedOf(limit.policies),
      edition: { version, earlier: new AllEarlier(earlier, version), renew },
    };
  }

  #earlier(record: PolicyRecord, version: number): EarlierEdition | 'unknown' {
    return earlierEdition(this.#options.name, record, version);
  }

  /**
   * @param found - The version of a state that the last edition given out did not know.
   * @throws (rejects) StoreError `SLUICE_POLICY_STALE` when the source does not know it either; as the source does.
   */
  async #renew(found: number | undefined, since?: number): Promise<Limit | undefined> {
    const known = this.current()?.edition?.version;
    if (found === undefined || known === undefined || found > known) await this.definitions.load();
    const limit = this.current();
    const definition = this.#definition;
    if (this.#isForgotten(since)) return undefined;
    if (limit?.edition === undefined || definition?.state !== 'usable' || found === undefined) return limit;
    const { edition } = limit;
    // Whoever writes a version into a state has it from the source: one that was asked since, and does not know it, has
    // forgotten it.
    if (found > edition.version) throw staleError();
    if (found === edition.version || edition.earlier.has(found)) return limit;
    const earlier = new Map([...edition.earlier, [found, this.#earlier(definition.record, found)] as const]);
    return { ...limit, edition: { ...edition, earlier } };
  }

  /** Whether a change has made everybody begin anew, so that units taken before are nobody's to give back. */
  #isForgotten(since: number | undefined): boolean {
    const definition = this.#definition;
    if (since === undefined || definition?.state !== 'usable' || since >= definition.version) return false;
    return isResetSince(definition.record, since);
  }

  #warn(why: string, help: string): void {
    const { policy, app, onUnconfigured } = this.#options;
    if (told === MOST_TOLD) return;
    const effect = onUnconfigured === 'deny' ? 'refused' : 'let through';
    const rest = told === MOST_TOLD - 1 ? ' (No more of these are told in this process.)' : '';
    const isNew = warnOnce(
      'SLUICE_POLICY_UNCONFIGURED',
      `the managed policy ${policy} cannot be used by the application ${app}: ${why}. Its requests are ${effect} (onUnconfigured); ${help}.${rest}`,
      `${policy} ${app} ${why}`,
    );
    if (isNew) told++;
  }

  #howToPut(): string {
    const { policy, app } = this.#options;
    return `put it with policies.put(${JSON.stringify(policy)}, ...), with ${JSON.stringify(app)} among its apps`;
  }
}
