import type { Policy } from '@sluice/old-core';
import { writtenPolicy } from '@sluice/old-core/inspect';
import { currentOf, parseDuration, writtenDuration } from '@sluice/old-core/spi';
import { sourceOf, type PolicyOverride, type SourcePolicy } from '@sluice/old-managed';
import { PageProblem } from './exchange.ts';
import { reasonOf, textOf, type Fields } from './fields.ts';
import type { History } from './history.ts';
import type { KeyNames } from './key-names.ts';
import { optionsOf, withOptions } from './policy-options.ts';
import type { CountedKey } from './recorder.ts';

/** The managed policy of a key, which numbers count for the key, and its override. */
export interface ManagedNumbers {
  readonly name: string;
  /** The numbers that count. */
  readonly text: string;
  readonly options: Readonly<Record<string, string>>;
  /** The override of this key itself; null: without one, the numbers are of the policy, or of a prefix. */
  readonly override: ShownOverride | null;
}

export type ShownOverride = Pick<PolicyOverride, 'untilMs' | 'by' | 'reason'>;

const LONGEST_OVERRIDE_MS = 366 * 86_400_000;
const LONGEST_TEXT = 200;
const FIELDS = ['id', 'before', 'by', 'reason'];

/** Sets and ends overrides of single keys, where their limit is a managed policy. */
export class Overrides {
  static readonly fields: Readonly<Record<string, readonly string[]>> = {
    override: [...FIELDS, 'options', 'duration'],
    'end-override': FIELDS,
  };
  readonly #names: KeyNames;
  readonly #history: History;

  constructor(names: KeyNames, history: History) {
    this.#names = names;
    this.#history = history;
  }

  /**
   * Gives a key other numbers of the same kind.
   *
   * @throws (rejects) PageProblem 409 where the numbers are not those that the operator saw (`before`); PolicyError for
   * wrong numbers.
   */
  async set(fields: Fields, operator: string | undefined): Promise<CountedKey> {
    const { by, reason } = reasonOf(fields, operator);
    const { key, source, current } = this.#found(fields);
    const durationMs = durationOf(fields);
    const after = withOptions(current, fields['options']);
    checkSeen(fields, current);
    const until = durationMs === undefined ? undefined : Date.now() + durationMs;
    await source.override(key.subject, after, { until, by, reason });
    const how = durationMs === undefined ? '' : ` for ${writtenDuration(durationMs)}`;
    const detail = `${writtenPolicy(current)} -> ${writtenPolicy(after)}${how}`;
    this.#log(key, { by, reason, action: 'set override', detail });
    return key;
  }

  /**
   * Ends the override of a key.
   *
   * @throws (rejects) PageProblem 409 where there is none, or its numbers are not those that the operator saw.
   */
  async end(fields: Fields, operator: string | undefined): Promise<CountedKey> {
    const { by, reason } = reasonOf(fields, operator);
    const { key, source, current } = this.#found(fields);
    const base = await source.policies.get(source.name);
    const override = await source.overrideOf(key.subject);
    if (base === undefined || override === undefined) {
      throw new PageProblem(409, 'this key has no override of its own; nothing was done');
    }
    checkSeen(fields, current);
    await source.removeOverride(key.subject, { by, reason });
    const detail = `${writtenPolicy(current)} -> ${writtenPolicy(base.policy)}`;
    this.#log(key, { by, reason, action: 'end override', detail });
    return key;
  }

  #found(fields: Fields): {
    readonly key: CountedKey;
    readonly source: SourcePolicy;
    readonly current: Policy;
  } {
    const key = this.#names.named(fields);
    const source = sourceOf(key.limit);
    const current = numbersOf(key);
    if (source !== undefined && current !== undefined) return { key, source, current };
    throw new PageProblem(
      409,
      'the numbers of this limit are in code: make it a managed policy to override them for a key; nothing was done',
    );
  }

  #log(key: CountedKey, change: Omit<Parameters<History['add']>[0], 'target'>): void {
    const of = ` of ${key.core.name}`;
    const target = `${this.#names.textOf(key)}${of}`;
    this.#history.add({ ...change, target }, `${this.#names.sharedTextOf(key)}${of}`);
  }
}

/** The numbers of a key, where they can be overridden; else null. */
export async function managedNumbers(key: CountedKey): Promise<ManagedNumbers | null> {
  const source = sourceOf(key.limit);
  const current = numbersOf(key);
  if (source === undefined || current === undefined) return null;
  const override = await source.overrideOf(key.subject);
  return {
    name: source.name,
    text: writtenPolicy(current),
    options: optionsOf(current),
    override: override === undefined ? null : shownOf(override),
  };
}

function shownOf({ untilMs, by, reason }: PolicyOverride): ShownOverride {
  return { untilMs, by, reason };
}

function numbersOf({ limit, subject }: CountedKey): Policy | undefined {
  return currentOf(limit, subject)?.policies[0]?.policy as Policy | undefined;
}

/** Undefined: without an end. */
function durationOf(fields: Fields): number | undefined {
  if (fields['duration'] === undefined || fields['duration'] === '') return undefined;
  const durationMs = parseDuration(textOf(fields, 'duration', 20), 'duration', 'SLUICE_OPTION_INVALID');
  if (durationMs <= LONGEST_OVERRIDE_MS) return durationMs;
  throw new PageProblem(400, 'an override lasts at most a year, or has no end; nothing was done');
}

function checkSeen(fields: Fields, current: Policy): void {
  const text = writtenPolicy(current);
  if (textOf(fields, 'before', LONGEST_TEXT) === text) return;
  throw new PageProblem(409, `the numbers were changed meanwhile: they are ${text} now; nothing was done`);
}
