import type { Limit, NamedPolicy } from '@sluice/old-core';
import type { ChangingPolicy, Definitions } from '@sluice/old-core/inspect';
import { shownOverride, type PolicyOverride } from './edit-overrides.ts';
import { OverrideIndex } from './override-index.ts';
import { OverrideLimits } from './override-limits.ts';
import { earlierVersion, readRecord, type PolicyDefinition } from './read-record.ts';
import type { OverrideRecord } from './overrides/override-record.ts';
import type { PolicyOverrides } from './overrides/policy-overrides.ts';
import type { SourceClock } from './overrides/source-clock.ts';
import { readRecordName, recordNameOf } from './overrides/target.ts';

type Records = Readonly<Record<string, unknown>>;
type Usable = Extract<PolicyDefinition, { state: 'usable' }>;

/**
 * What the policies and overrides of these records are at present, for `inspectKey` of `@sluice/core/inspect`.
 *
 * @param records - By their names, as a `PolicySource` returns them: `orders` of a policy, `orders:key:ann` of an override.
 * @param atMs - The instant, by the clock of the source, at which overrides are in force. Default: by that of this process.
 */
export function definitionsOf(records: Records, atMs: number = Date.now()): Definitions {
  const index = new OverrideIndex();
  index.clock.saw(atMs);
  for (const [name, record] of Object.entries(records)) {
    if (readRecordName(name) !== undefined) index.adopt(name, record);
  }
  return (name, subject) => {
    const definition = Object.hasOwn(records, name) ? usable(name, records[name]) : noSuchPolicy(name);
    if (typeof definition === 'string') return definition;
    const overrides = index.of(name);
    return overrides?.first(subject) === undefined
      ? ofPolicy(name, definition)
      : ofSubject(definition, { name, subject, records, overrides, clock: index.clock });
  };
}

function noSuchPolicy(name: string): string {
  return `there is no managed policy ${name}`;
}

function usable(name: string, given: unknown): Usable | string {
  if (given === undefined) return noSuchPolicy(name);
  const definition = readRecord(name, given);
  switch (definition.state) {
    case 'removed':
      return `the managed policy ${name} was removed`;
    case 'newer':
    case 'broken':
      return `the managed policy ${name} cannot be used: ${definition.why}`;
    case 'usable':
      return definition;
  }
}

function ofPolicy(name: string, { named, version, record }: Usable): ChangingPolicy {
  return { named, version, earlier: (before) => earlierVersion(name, record, before) };
}

interface Subject {
  readonly name: string;
  readonly subject: string;
  readonly records: Records;
  readonly overrides: PolicyOverrides;
  readonly clock: SourceClock;
}

/** What counts for a subject that overrides concern, or have concerned. */
function ofSubject(definition: Usable, { name, subject, records, overrides, clock }: Subject): ChangingPolicy {
  const { named, version } = definition;
  const limits = new OverrideLimits({
    name,
    base: { ...definition, limit: limitOf(named, version) },
    overrides,
    clock,
    make: (made) => (made.named.algorithm === named.algorithm ? limitOf(made.named, made.version) : undefined),
  });
  const limit = limits.of(subject);
  const counted = limit.policyVersion?.version ?? version;
  return {
    named: limit.policies[0] ?? named,
    version: counted,
    earlier: (before) => limits.earlier(subject, before, counted),
    override: shownInForce(limit.policies[0], { name, subject, records, overrides, clock }),
  };
}

function limitOf(named: NamedPolicy, version: number): Limit {
  return { policies: [named], keySuffix: '', policyVersion: { version, earlier: new Map() } };
}

/** The override whose numbers count, with who set it and why. */
function shownInForce(
  counted: NamedPolicy | undefined,
  { name, subject, records, overrides, clock }: Subject,
): PolicyOverride | undefined {
  const nowMs = clock.nowMs();
  const found = overrides
    .concerning({ kind: 'key', text: subject })
    .find(([, { named, untilMs }]) => named !== undefined && untilMs > nowMs);
  if (found === undefined || found[1].named?.algorithm !== counted?.algorithm) return undefined;
  const [target] = found;
  return shownOverride(name, target, records[recordNameOf(name, target)] as OverrideRecord);
}
