import {
  type PolicyBase,
  shown,
  keySuffixOf,
  sourceKeySuffix,
  checkDistinct,
  namePolicy,
  isFastPathEligible,
  checkOptions,
  parseEscalation,
} from '@sluice/old-core/spi';
import {
  PolicyError,
  type NamedPolicy,
  type CarryOver,
  type EarlierVersion,
  type Limit,
  type PolicyVersion,
  type Escalation,
} from '@sluice/old-core';

type WrittenPolicy = readonly [name: string, policy: PolicyBase];
type WrittenEarlier = readonly [version: number, carryOver: CarryOver | 'unknown', policies: readonly WrittenPolicy[]];

/** A limit as a frame holds it: what a store needs to count it. */
interface WrittenLimit {
  readonly keySuffix: string;
  readonly policies: readonly WrittenPolicy[];
  readonly escalation?: Escalation;
  readonly version?: readonly [version: number, earlier: readonly WrittenEarlier[]];
}

const MOST_POLICIES = 64;
const MOST_VERSIONS = 256;
const CARRY_OVERS: readonly unknown[] = ['keep', 'reset', 'unknown'];
/** The limiter of a key suffix. That of a probe begins with a minus. */
const LIMITER = /^:(-?[A-Za-z][A-Za-z0-9._-]{0,63}):/;

export function limitToJson({ keySuffix, policies, escalation, policyVersion }: Limit): WrittenLimit {
  return {
    keySuffix,
    policies: policies.map(policyToJson),
    ...(escalation === undefined ? {} : { escalation }),
    ...(policyVersion === undefined ? {} : { version: versionToJson(policyVersion) }),
  };
}

function policyToJson({ name, policy }: NamedPolicy): WrittenPolicy {
  return [name, policy];
}

function versionToJson({ version, earlier }: PolicyVersion): Required<WrittenLimit>['version'] {
  const written = [...earlier].map(([number, before]): WrittenEarlier =>
    before === 'unknown' ? [number, before, []] : [number, before.carryOver, before.policies.map(policyToJson)],
  );
  return [version, written];
}

/**
 * Makes a limit of what a client sent. Every number is checked as if a user had written it, and the end of the key
 * must be the one that these policies have here.
 *
 * @throws PolicyError for a limit that cannot be counted, or whose states another release would store differently.
 */
export function limitFromJson(given: unknown): Limit {
  checkOptions(given, ['keySuffix', 'policies', 'escalation', 'version'], 'limit');
  const { keySuffix, policies: written, escalation, version } = given as Partial<Record<keyof WrittenLimit, unknown>>;
  const policies = policiesFromJson(written, 1);
  const policyVersion = version === undefined ? undefined : versionFromJson(version, policies);
  const limit: Limit = {
    policies,
    keySuffix: checkKeySuffix(keySuffix, policies, policyVersion !== undefined),
    ...(escalation === undefined ? {} : { escalation: parseEscalation(escalation) }),
    ...(policyVersion === undefined ? {} : { policyVersion }),
  };
  return { ...limit, fastPathEligible: isFastPathEligible(limit) };
}

function policiesFromJson(given: unknown, least: number): readonly NamedPolicy[] {
  const list = checkList(given, 'limit.policies', least, MOST_POLICIES);
  const policies = list.map((item, i) => {
    const [name, policy] = checkList(item, `limit.policies[${String(i)}]`, 2, 2);
    return namePolicy(policy, name as string, `limit.policies[${String(i)}]`);
  });
  checkDistinct(
    policies.map(({ name }) => name),
    'limit.policies',
  );
  return policies;
}

function versionFromJson(given: unknown, policies: readonly NamedPolicy[]): PolicyVersion {
  const [version, earlier] = checkList(given, 'limit.version', 2, 2);
  if (policies.length !== 1) throw invalid('limit.policies', 'one policy where it has versions', policies);
  const known = checkList(earlier, 'limit.version[1]', 0, MOST_VERSIONS).map(
    (item): [number, EarlierVersion | 'unknown'] => {
      const [number, carryOver, before] = checkList(item, 'limit.version[1]', 3, 3);
      if (!CARRY_OVERS.includes(carryOver)) throw invalid('limit.version[1]', 'a way to carry states over', carryOver);
      const earlierVersion = {
        carryOver: carryOver as CarryOver,
        policies: policiesFromJson(before, carryOver === 'keep' ? 1 : 0),
      };
      return [checkVersion(number), carryOver === 'unknown' ? carryOver : earlierVersion];
    },
  );
  return { version: checkVersion(version), earlier: new Map(known) };
}

function checkKeySuffix(given: unknown, policies: readonly NamedPolicy[], hasVersions: boolean): string {
  const limiter = typeof given === 'string' ? LIMITER.exec(given)?.[1] : undefined;
  const ofSource = limiter === undefined ? undefined : sourceKeySuffix(limiter);
  const expected = limiter === undefined || hasVersions ? ofSource : keySuffixOf(limiter, policies);
  if (expected !== undefined && (given === expected || given === ofSource)) return given as string;
  throw new PolicyError(
    'limit.keySuffix',
    `the server stores states of this limit under keys that end with ${shown(expected ?? ':<limiter>:<policies>')}, and the client under ${shown(given)}: ` +
      'run the same release of @sluice/core on both sides',
  );
}

function checkVersion(given: unknown): number {
  if (Number.isSafeInteger(given) && (given as number) >= 0) return given as number;
  throw invalid('limit.version', 'a whole number', given);
}

function checkList(given: unknown, field: string, least: number, most: number): readonly unknown[] {
  if (Array.isArray(given) && given.length >= least && given.length <= most) return given as readonly unknown[];
  throw invalid(field, `an array of ${least === most ? String(least) : `${String(least)} to ${String(most)}`}`, given);
}

function invalid(field: string, expected: string, got: unknown): PolicyError {
  return new PolicyError(field, `${field} must be ${expected}, got ${shown(got)}`);
}
