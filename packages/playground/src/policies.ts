import { PolicyError, type Policy } from '@sluice/core';
import { LimiterCore } from '@sluice/core/spi';
import { kindOf, type PolicyField, type PolicyKind } from './policy-kinds.ts';

/** A policy as its form has it: text, right or wrong. */
export interface PolicyChoice {
  /** The id of a {@link PolicyKind}. */
  readonly kind: string;
  /** Empty: the name of the limiter. */
  readonly name: string;
  /** By the names of the kind's fields. A field that is empty or missing has its default. */
  readonly values: Readonly<Record<string, string>>;
}

/** The error of one field. */
export interface FieldError {
  /** The index of the policy. */
  readonly policy: number;
  readonly field: string;
  readonly message: string;
}

export const MOST_POLICIES = 4;

/** A policy of this kind, with the numbers it starts with. */
export function newPolicy(kind: string, name = ''): PolicyChoice {
  return { kind, name, values: kindOf(kind)?.initial ?? {} };
}

/** Several policies need names of their own: those that have none get one. */
export function withNames(choices: readonly PolicyChoice[]): readonly PolicyChoice[] {
  if (choices.length < 2) return choices;
  const taken = new Set(choices.map(({ name }) => name.toLowerCase()));
  return choices.map((choice) => {
    if (choice.name !== '') return choice;
    const stem = stemOf(choice);
    let name = stem;
    for (let i = 2; taken.has(name.toLowerCase()); i++) name = `${stem}-${String(i)}`;
    taken.add(name.toLowerCase());
    return { ...choice, name };
  });
}

function stemOf({ kind, values }: PolicyChoice): string {
  if (kind === 'concurrency') return 'at-once';
  if (kind === 'leakyBucket') return 'pace';
  if (kind === 'tokenBucket' || kind === 'intervalBucket') return 'burst';
  return /^[\w.]+$/.test(values['window'] ?? '') ? `per-${values['window'] ?? ''}` : 'window';
}

/** Options as the policy's function takes them, in the order of the form, without those that have their default. */
export function optionsOf(choice: PolicyChoice): Readonly<Record<string, string | number | boolean>> {
  const kind = kindOf(choice.kind) as PolicyKind;
  const given = kind.fields.filter((field) => isGiven(field, choice.values[field.name] ?? ''));
  return {
    ...(choice.name === '' ? {} : { name: choice.name }),
    ...Object.fromEntries(given.map((field) => [field.name, valueOf(field, choice.values[field.name] ?? '')])),
    ...kind.fixed,
  };
}

function isGiven({ otherwise }: PolicyField, text: string): boolean {
  return otherwise === undefined || (text.trim() !== '' && text !== otherwise);
}

function valueOf({ type }: PolicyField, text: string): string | number | boolean {
  const trimmed = text.trim();
  if (type === 'switch') return trimmed === 'true';
  // Text that is no number stays text, so that the message shows it.
  if (type === 'units') return /^\d+$/.test(trimmed) ? Number(trimmed) : trimmed;
  return trimmed;
}

/** The policies, or what is wrong with them. */
export function checkedPolicies(choices: readonly PolicyChoice[]): {
  readonly policies: readonly Policy[] | undefined;
  readonly errors: readonly FieldError[];
} {
  const errors: FieldError[] = [];
  const policies = choices.flatMap((choice, policy) => {
    try {
      return [(kindOf(choice.kind) as PolicyKind).from(optionsOf(choice) as never)];
    } catch (error) {
      errors.push(fieldError(error, policy));
      return [];
    }
  });
  if (errors.length > 0) return { policies: undefined, errors };
  try {
    new LimiterCore({}).limitFor(policies);
    return { policies, errors };
  } catch (error) {
    // Which of several names it is, is in the message.
    return { policies: undefined, errors: [{ ...fieldError(error, choices.length - 1), field: 'name' }] };
  }
}

function fieldError(error: unknown, policy: number): FieldError {
  if (!(error instanceof PolicyError)) throw error;
  return { policy, field: error.field.replace(/Ms$/, ''), message: error.message.replace(/ \[SLUICE_\w+\]$/, '') };
}
