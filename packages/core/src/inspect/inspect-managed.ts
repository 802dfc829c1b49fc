import { readRecord, earlierVersion, type PolicyDefinition } from '../managed/read-record.ts';
import { migrateStates } from '../engine/migrate-state.ts';
import { remembered } from '../engine/denial-count.ts';
import { readValue } from '../stores/redis/value.ts';
import type { PolicyVersion, Limit, KeyState } from '../engine/store.ts';
import { externalStateKeyOf, type KeyText } from './key-text.ts';
import { reportPolicy } from './report-policy.ts';
import type { KeyReport } from './report.ts';

type Usable = Extract<PolicyDefinition, { readonly state: 'usable' }>;

/**
 * Reports what the key of a managed policy holds. A state of an earlier version is shown as converted to the current
 * one.
 *
 * @param record - The record of the policy, undefined if there is none.
 */
export function inspectManaged(
  key: string,
  { subject, owner }: KeyText,
  value: string,
  atMs: number,
  record: unknown,
): KeyReport {
  const definition = record === undefined ? undefined : readRecord(owner, record);
  const policies = definition?.state === 'usable' ? [definition.named] : [];
  const read = readValue(value, key, { policies, policyVersion: ANY_VERSION });
  if (read instanceof Error) {
    const problem = 'its value is not one that managed policies write';
    return { key, subject, limiter: null, blockedUntilMs: null, denials: null, policies: [], problem };
  }

  const { blockedUntilMs, version, text = '' } = read;
  const isBlocked = blockedUntilMs > atMs;
  const denials = remembered(read.denials, atMs) ?? null;
  const report = { key, subject, limiter: null, blockedUntilMs: isBlocked ? blockedUntilMs : null, denials };
  if (definition?.state !== 'usable') return { ...report, policies: [], problem: whyUnusable(owner, definition) };
  const state = version === undefined ? undefined : stateNow(owner, version, text, definition, atMs);
  if (state instanceof Error) return { ...report, policies: [], problem: state.message };
  return {
    ...report,
    policies: [
      reportPolicy(definition.named, state, {
        isBlocked,
        atMs,
        version: version ?? null,
        detailKey: externalStateKeyOf(key, definition.named.algorithm, 0),
      }),
    ],
    problem: null,
  };
}

/** Makes `readValue` expect a version in the value. */
export const ANY_VERSION: PolicyVersion = { version: 0, earlier: new Map() };

function whyUnusable(name: string, definition: Exclude<PolicyDefinition, Usable> | undefined): string {
  switch (definition?.state) {
    case undefined:
      return `there is no managed policy ${name}`;
    case 'removed':
      return `the managed policy ${name} was removed`;
    case 'newer':
    case 'broken':
      return `the managed policy ${name} cannot be used: ${definition.why}`;
  }
}

/** The state as converted to the defined version, or an error that explains why there is none. */
function stateNow(name: string, version: number, text: string, definition: Usable, atMs: number): unknown {
  const { named, record } = definition;
  if (version > definition.version) {
    return new Error(
      `version ${String(version)} of ${name} wrote it, and the defined version is ${String(definition.version)}`,
    );
  }
  const earlier = earlierVersion(name, record, version);
  const writers = version === definition.version ? [named] : earlier === 'unknown' ? [] : earlier.policies;
  const state = writers[0]?.algorithm.decode(text);
  if (writers.length > 0 && state === undefined) return new Error('its value is not one that its policy writes');
  // A state of an unknown version is not read: it is enough that there is one.
  const keyState: KeyState = { blockedUntilMs: 0, states: [state ?? text], version };
  const policyVersion: PolicyVersion = { version: definition.version, earlier: new Map([[version, earlier]]) };
  const limit: Limit = { policies: [named], policyVersion, keySuffix: '' };
  migrateStates({ op: 'peek', parts: [{ limit, subject: '', cost: 0 }] }, [keyState], atMs);
  return keyState.states[0];
}
