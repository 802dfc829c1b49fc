import { migrateStates } from '../engine/migrate-state.ts';
import { remembered } from '../engine/denial-count.ts';
import type { NamedPolicy } from '../engine/policy.ts';
import { readValue } from '../stores/redis/value.ts';
import type { EarlierVersion, PolicyVersion, Limit, KeyState } from '../engine/store.ts';
import { externalStateKeyOf, type KeyText } from './key-text.ts';
import { reportPolicy } from './report-policy.ts';
import type { KeyReport } from './report.ts';

/** A policy that changes while states live on, as it is at present. */
export interface ChangingPolicy {
  readonly named: NamedPolicy;
  readonly version: number;
  /** The policies that read a state of another version, and what is carried over of it. */
  earlier(version: number): EarlierVersion | 'unknown';
  readonly override?: object | undefined;
}

/** Tells what a managed policy is at present for a subject, by its name, or why it cannot be used. */
export type Definitions = (name: string, subject: string) => ChangingPolicy | string;

/**
 * Reports what the key of a managed policy holds. A state of an earlier version is shown as converted to the current
 * one.
 */
export function inspectSource(
  key: string,
  { subject, owner }: KeyText,
  value: string,
  atMs: number,
  definitions: Definitions,
): KeyReport {
  const definition = definitions(owner, subject);
  const policies = typeof definition === 'string' ? [] : [definition.named];
  const read = readValue(value, key, { policies, policyVersion: ANY_VERSION });
  if (read instanceof Error) {
    const problem = 'its value is not one that managed policies write';
    return { key, subject, limiter: null, blockedUntilMs: null, denials: null, policies: [], problem };
  }

  const { blockedUntilMs, version, text = '' } = read;
  const isBlocked = blockedUntilMs > atMs;
  const denials = remembered(read.denials, atMs) ?? null;
  const report = { key, subject, limiter: null, blockedUntilMs: isBlocked ? blockedUntilMs : null, denials };
  if (typeof definition === 'string') return { ...report, policies: [], problem: definition };
  const state = version === undefined ? undefined : stateNow(owner, version, text, definition, atMs);
  if (state instanceof Error) return { ...report, policies: [], problem: state.message };
  return {
    ...report,
    policies: [
      reportPolicy(definition.named, state, {
        isBlocked,
        atMs,
        version: version ?? null,
        override: definition.override ?? null,
        detailKey: externalStateKeyOf(key, definition.named.algorithm, 0),
      }),
    ],
    problem: null,
  };
}

/** Makes `readValue` expect a version in the value. */
const ANY_VERSION: PolicyVersion = { version: 0, earlier: new Map() };

/** Where nothing is known of managed policies. */
export const NO_DEFINITIONS: Definitions = (name) => `there is no managed policy ${name}`;

/** The state as converted to the defined version, or an error that explains why there is none. */
function stateNow(name: string, version: number, text: string, definition: ChangingPolicy, atMs: number): unknown {
  const { named, version: defined } = definition;
  if (version > defined) {
    return new Error(`version ${String(version)} of ${name} wrote it, and the defined version is ${String(defined)}`);
  }
  const earlier = definition.earlier(version);
  const writers = version === defined ? [named] : earlier === 'unknown' ? [] : earlier.policies;
  const state = writers[0]?.algorithm.decode(text);
  if (writers.length > 0 && state === undefined) return new Error('its value is not one that its policy writes');
  // A state of an unknown version is not read: it is enough that there is one.
  const keyState: KeyState = { blockedUntilMs: 0, states: [state ?? text], version };
  const policyVersion: PolicyVersion = { version: defined, earlier: new Map([[version, earlier]]) };
  const limit: Limit = { policies: [named], policyVersion, keySuffix: '' };
  migrateStates({ op: 'peek', parts: [{ limit, subject: '', cost: 0 }] }, [keyState], atMs);
  return keyState.states[0];
}
