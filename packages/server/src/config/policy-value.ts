import {
  concurrency,
  describePolicy,
  fixedWindow,
  leakyBucket,
  PolicyError,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Policy,
} from '@sluice/core';
import { managed } from '@sluice/core/managed';
import type { Limit } from '@sluice/core/spi';
import type { MakeLimit, RulePolicy } from '../limits.ts';
import { unknownName } from './unknown-name.ts';
import { type YamlField, type YamlValue } from './yaml-value.ts';

export const MAKERS = { fixedWindow, slidingWindow, slidingCounter, slidingLog, tokenBucket, leakyBucket, concurrency };
const KINDS: readonly string[] = Object.keys(MAKERS);
/** As names of policies are: they are part of header fields and keys. */
const NAME = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;
export const NAME_FORM = 'a letter followed by up to 63 letters, digits, ".", "-" or "_"';
const MANAGED = 'managed';
const EXPECTED = 'a policy such as fixedWindow: { limit: 5, window: 1m }, or managed: and its name';

/** A policy of a file. */
export interface FilePolicy {
  readonly policy: RulePolicy;
  /** The policy as text. */
  readonly written: string;
  /** Its name if it is managed. */
  readonly managed: string | undefined;
  /** Its numbers if it is one policy, and not managed. */
  readonly base: Policy | undefined;
}

/**
 * One policy as a file writes it: `{ tokenBucket: { capacity: 20, refill: 10, every: 1s } }`, or `{ managed: orders }`.
 */
export interface PolicyOptions {
  readonly where: string;
  /** The name of a policy that has none. */
  readonly name: string | undefined;
  /** Whether the policy may have a name of its own. */
  readonly mayName: boolean;
  /** Fields that may stand beside it, which others read. Default: none. */
  readonly beside?: readonly string[];
}

/** Whether a text can be the name of a policy. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** Reads one policy. Undefined where it cannot be used, which is reported. */
export function readPolicy(value: YamlValue, options: PolicyOptions): FilePolicy | undefined {
  const { where, beside = [] } = options;
  if (value.isMissing) {
    value.problem(`${where} must hold ${EXPECTED}, got nothing`);
    return undefined;
  }
  const fields = value.fields(where, EXPECTED);
  const [kind, ...others] = fields.filter(({ name }) => name === MANAGED || KINDS.includes(name));
  for (const field of fields) {
    if (field.name === MANAGED || KINDS.includes(field.name) || beside.includes(field.name)) continue;
    field.value.problemAtName(unknownName(where, field.name, [...KINDS, MANAGED, ...beside]));
  }
  for (const other of others) {
    other.value.problemAtName(
      `${where} has two policies, ${kind?.name ?? ''} and ${other.name}; write a list of named ones`,
    );
  }
  if (kind === undefined) {
    if (value.isMap && fields.every(({ name }) => beside.includes(name)))
      value.problem(`${where} must hold ${EXPECTED}`);
    return undefined;
  }
  if (kind.name === MANAGED) return readManaged(kind.value);
  const base = readKind(kind, options);
  return base && { policy: base, written: describePolicy(base), managed: undefined, base };
}

/** By their names: the same function each time, because a limiter follows each as long as it lives. */
const managedPolicies = new Map<string, RulePolicy>();

function readManaged(value: YamlValue): FilePolicy | undefined {
  const name = value.text(MANAGED) ?? '';
  try {
    const policy = managedPolicies.get(name) ?? managed(name);
    managedPolicies.set(name, policy);
    return { policy, written: `managed ${name}`, managed: name, base: undefined };
  } catch (error) {
    report(error, value);
    return undefined;
  }
}

function readKind(kind: YamlField, { where, name, mayName }: PolicyOptions): Policy | undefined {
  const fields = kind.value.fields(kind.name, 'its options, such as { limit: 100, window: 1m }');
  if (!kind.value.isMap) {
    if (kind.value.isMissing)
      kind.value.problem(`${kind.name} must hold its options, such as { limit: 100, window: 1m }`);
    return undefined;
  }
  const own = fields.find((field) => field.name === 'name');
  if (own !== undefined && !mayName) {
    own.value.problemAtName(`${kind.name} must not have a name here: ${where} names it`);
    return undefined;
  }
  const options = kind.value.plain() as Readonly<Record<string, unknown>>;
  const make = MAKERS[kind.name as keyof typeof MAKERS] as (options: unknown) => Policy;
  try {
    return make(own === undefined && name !== undefined ? { ...options, name } : options);
  } catch (error) {
    const at = error instanceof PolicyError ? fields.find((field) => field.name === error.field)?.value : undefined;
    report(error, at ?? kind.value);
    return undefined;
  }
}

/**
 * The limit of a policy. Undefined where the core cannot use it, which is reported at the place of the policy.
 *
 * @param slots - What to say of a policy that holds slots, where none can be used.
 */
export function limitAt(value: YamlValue, policy: RulePolicy, makeLimit: MakeLimit, slots?: string): Limit | undefined {
  try {
    const limit = makeLimit(policy);
    if (slots === undefined || limit.fixed === undefined || !limit.mayHold) return limit;
    value.problemAtName(slots);
  } catch (error) {
    report(error, value);
  }
  return undefined;
}

/** @throws an error that is not about the policy. */
function report(error: unknown, value: YamlValue): void {
  if (!(error instanceof PolicyError)) throw error;
  if (error.code === 'SLUICE_OPTION_UNKNOWN') value.problemAtName(error.message);
  else value.problem(error.message);
}
