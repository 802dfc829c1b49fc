import { definitionOf, earlierEdition, type Definition } from '../managed/definition.ts';
import { bringOver } from '../stores/carry-over.ts';
import type { KeyState } from '../stores/evaluate.ts';
import { remembered } from '../stores/escalation.ts';
import { readValue } from '../stores/redis/value.ts';
import type { Edition, Limit } from '../stores/store.ts';
import { detailKeyOf, type KeyText } from './key-text.ts';
import { reportPolicy } from './report-policy.ts';
import type { KeyReport } from './report.ts';

type Usable = Extract<Definition, { readonly state: 'usable' }>;

/**
 * Reads the key of a managed policy. A state of an earlier version is shown as what the policy makes of it by now.
 *
 * @param record - The policy's, undefined where there is none.
 */
export function inspectManaged(
  key: string,
  { subject, owner }: KeyText,
  value: string,
  atMs: number,
  record: unknown,
): KeyReport {
  const definition = record === undefined ? undefined : definitionOf(owner, record);
  const policies = definition?.state === 'usable' ? [definition.named] : [];
  const read = readValue(value, key, { policies, edition: ANY });
  if (read instanceof Error) {
    const problem = 'it holds something else than managed policies write';
    return { key, subject, limiter: null, blockedUntilMs: null, refusals: null, policies: [], problem };
  }

  const { blockedUntilMs, version, text = '' } = read;
  const isBlocked = blockedUntilMs > atMs;
  const refusals = remembered(read.refusals, atMs) ?? null;
  const report = { key, subject, limiter: null, blockedUntilMs: isBlocked ? blockedUntilMs : null, refusals };
  if (definition?.state !== 'usable') return { ...report, policies: [], problem: whyNot(owner, definition) };
  const state = version === undefined ? undefined : stateNow(owner, version, text, definition, atMs);
  if (state instanceof Error) return { ...report, policies: [], problem: state.message };
  return {
    ...report,
    policies: [
      reportPolicy(definition.named, state, {
        isBlocked,
        atMs,
        version: version ?? null,
        detailKey: detailKeyOf(key, definition.named.algorithm, 0),
      }),
    ],
    problem: null,
  };
}

/** Says no more than that there are editions: which one wrote the state is to be read. */
const ANY: Edition = { version: 0, earlier: new Map() };

function whyNot(name: string, definition: Exclude<Definition, Usable> | undefined): string {
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

/** The state as the version that is defined finds it, or why it cannot be told. */
function stateNow(name: string, version: number, text: string, definition: Usable, atMs: number): unknown {
  const { named, record } = definition;
  if (version > definition.version) {
    return new Error(
      `version ${String(version)} of ${name} wrote it, and what is defined is version ${String(definition.version)}`,
    );
  }
  const earlier = earlierEdition(name, record, version);
  const writers = version === definition.version ? [named] : earlier === 'unknown' ? [] : earlier.policies;
  const state = writers[0]?.algorithm.decode(text);
  if (writers.length > 0 && state === undefined) return new Error('it holds something else than its policy writes');
  // Of a version that nobody remembers nothing is read: that there is a state is enough.
  const key: KeyState = { blockedUntilMs: 0, states: [state ?? text], version };
  const edition: Edition = { version: definition.version, earlier: new Map([[version, earlier]]) };
  const limit: Limit = { policies: [named], edition, scope: '' };
  bringOver({ op: 'peek', parts: [{ limit, subject: '', cost: 0 }] }, [key], atMs);
  return key.states[0];
}
