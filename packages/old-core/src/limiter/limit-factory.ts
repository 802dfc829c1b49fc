import type { CoreSettings } from './options.ts';
import { keySuffixOf, ownerOf } from '../engine/key.ts';
import { isSource, type LimitFeed, type LimitRef, type LimitSource } from '../engine/limit-source.ts';
import { MAKES_SOURCE, type LimitReference } from './limit-reference.ts';
import type { NamedPolicy } from '../engine/policy.ts';
import { withFallback } from '../stores/fallback.ts';
import { isFastPathEligible, type Limit, type PolicyVersion } from '../engine/store.ts';

const MOST_KNOWN = 1000;

/** Makes the limits of one limiter, and holds the feeds that those read which change. */
export class LimitFactory {
  readonly #settings: CoreSettings;
  readonly #feeds = new Set<LimitFeed>();
  /**
   * The first thousand limits, for operators: functions may make policies without end. A service that reads its limits again
   * replaces them.
   */
  known: LimitRef[] = [];
  #isInUse = false;

  constructor(settings: CoreSettings) {
    this.#settings = settings;
  }

  /**
   * @throws PolicyError when these policies cannot be split by `localShare`, or cannot be counted by the store.
   */
  of(policies: readonly NamedPolicy[]): Limit {
    return this.#remember(this.#made(policies, keySuffixOf(this.#settings.name, policies)));
  }

  #made(policies: readonly NamedPolicy[], keySuffix: string, policyVersion?: PolicyVersion): Limit {
    const { store, escalate: escalation, localShare, denialCache } = this.#settings;
    const own: Limit = {
      policies,
      keySuffix,
      denialAgeMs: denialCache?.ageMs ?? 0,
      ...(escalation === undefined ? {} : { escalation }),
      ...(policyVersion === undefined ? {} : { policyVersion }),
    };
    const limit = withFallback({ ...own, fastPathEligible: isFastPathEligible(own) }, localShare);
    store.checkLimit?.(limit);
    return limit;
  }

  /**
   * The source of the limits of a reference.
   *
   * @param name - The name of its policy in decisions. Default: that of the reference.
   * @throws PolicyError as the reference does.
   */
  from(reference: LimitReference, name: string = reference.name): LimitSource {
    const source = reference[MAKES_SOURCE](name, {
      ...this.#settings,
      limiter: this.#settings.name,
      limitOf: (policies, keySuffix, policyVersion) => this.#made(policies, keySuffix, policyVersion),
    });
    this.#remember(source);
    const { feed } = source;
    if (feed !== undefined && !this.#feeds.has(feed)) {
      this.#feeds.add(feed);
      if (this.#isInUse) feed.enter();
    }
    return source;
  }

  /** Whether a limit is one of this limiter. One of a source may be that of several. */
  owns(limit: LimitRef): boolean {
    return isSource(limit) ? this.known.includes(limit) : ownerOf(limit.keySuffix) === `:${this.#settings.name}`;
  }

  #remember<Ref extends LimitRef>(limit: Ref): Ref {
    if (this.known.length < MOST_KNOWN) this.known.push(limit);
    return limit;
  }

  /** Starts to follow the feeds. */
  enter(): void {
    this.#isInUse = true;
    for (const feed of this.#feeds) feed.enter();
  }

  /** Stops following them. Returns failures, and throws none. */
  async leave(): Promise<readonly Error[]> {
    const left = await Promise.allSettled([...this.#feeds].map((feed) => feed.leave()));
    return left.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  }
}
