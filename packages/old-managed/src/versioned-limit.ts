import type { EarlierVersion, Limit, NamedPolicy, PolicyVersion } from '@sluice/old-core';
import { AllEarlier, withFallback, type SourceSettings } from '@sluice/old-core/spi';

/** How the states of a version are converted, or `unknown`. */
export type Earlier = EarlierVersion | 'unknown';

/** A policy that counts under a version, and the versions before it. */
export interface VersionedPolicy {
  readonly named: NamedPolicy;
  readonly version: number;
  /** Those that every call names. A state of another one takes a second round trip. */
  readonly sent: readonly number[];
  /** All of them. */
  readonly all: readonly number[];
  /** How the states of a version before it are converted. */
  readonly earlier: (version: number) => Earlier;
}

export interface VersionedLimitOptions extends Pick<SourceSettings, 'localShare' | 'limitOf'> {
  readonly keySuffix: string;
  /** See `PolicyVersion.renew`. */
  readonly renew: NonNullable<PolicyVersion['renew']>;
  /** The same for the limit of the fallback store. */
  readonly renewLocally: (subject: string, since?: number) => Limit | undefined;
}

/**
 * Makes the limit of a policy whose states may have been written under other numbers.
 *
 * @throws PolicyError where the limiter cannot count it.
 */
export function versionedLimit(
  { keySuffix, localShare, limitOf, renew, renewLocally }: VersionedLimitOptions,
  { named, version, sent, all, earlier }: VersionedPolicy,
): Limit {
  const limit = limitOf([named], keySuffix, {
    version,
    earlier: new Map(sent.map((before) => [before, earlier(before)])),
    renew,
  });
  const sharedOf = (policies: readonly NamedPolicy[]): readonly NamedPolicy[] =>
    withFallback({ policies, keySuffix }, localShare).fallback?.policies ?? policies;
  // Nothing is sent there, so it has all earlier versions.
  const locally = all.map((before): [number, Earlier] => [before, shareOf(earlier(before), sharedOf)]);
  const fallback: Limit = {
    ...limit,
    policies: limit.fallback?.policies ?? limit.policies,
    policyVersion: {
      version,
      earlier: new AllEarlier(locally, version),
      renew: (subject, _found, since) => Promise.resolve(renewLocally(subject, since)),
    },
  };
  return { ...limit, fallback };
}

function shareOf(earlier: Earlier, sharedOf: (policies: readonly NamedPolicy[]) => readonly NamedPolicy[]): Earlier {
  if (earlier === 'unknown') return earlier;
  try {
    return { ...earlier, policies: sharedOf(earlier.policies) };
  } catch {
    return 'unknown'; // the share of this version cannot be counted
  }
}
