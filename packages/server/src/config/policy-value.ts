import { PolicyError, type Policy } from '@sluice/core';
import { MAKERS } from '@sluice/core/spi';
import type { PolicyData } from './configuration-data.ts';
import { quoted, unknownName, type YamlField, type YamlValue } from './yaml-value.ts';

const KINDS: readonly string[] = Object.keys(MAKERS);

/** The names that policies may have: they are part of header fields and keys. */
const NAME = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;
export const NAME_FORM = 'a letter followed by up to 63 letters, digits, ".", "-" or "_"';

const MANAGED = 'managed';
const EXPECTED = 'a policy such as fixedWindow: { limit: 5, window: 1m }, or managed: and its name';

export interface PolicyOptions {
  readonly where: string;
  /** The name of a policy that has none. */
  readonly name: string | undefined;
  /** Whether the policy may have a name of its own. */
  readonly mayName: boolean;
  /** Why slots cannot be held here. Default: they can. */
  readonly noSlots?: string;
}

/** @throws PolicyError for options that are not those of this kind. */
export function makePolicy(kind: string, options: unknown): Policy {
  return MAKERS[kind as keyof typeof MAKERS](options as never);
}

/** Whether a text can be the name of a policy. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/**
 * Reads one policy as a file writes it: `{ tokenBucket: { capacity: 20, refill: 10, every: 1s } }`, or
 * `{ managed: orders }`. Undefined if it is invalid, which is reported.
 */
export function readPolicy(value: YamlValue, options: PolicyOptions): PolicyData | undefined {
  const { where } = options;
  if (value.isMissing) {
    value.problem(`${where} must hold ${EXPECTED}, got nothing`);
    return undefined;
  }
  const fields = value.fields(where, EXPECTED);
  const [kind, ...others] = fields.filter(({ name }) => name === MANAGED || KINDS.includes(name));
  for (const field of fields) {
    if (field.name === MANAGED || KINDS.includes(field.name)) continue;
    field.value.problemAtName(unknownName(where, field.name, [...KINDS, MANAGED]));
  }
  for (const other of others) {
    other.value.problemAtName(
      `${where} has two policies, ${kind?.name ?? ''} and ${other.name}; write a list of named ones`,
    );
  }
  if (kind === undefined) {
    if (value.isMap && fields.length === 0) value.problem(`${where} must hold ${EXPECTED}`);
    return undefined;
  }
  if (kind.name === MANAGED) return readManaged(kind.value, value);
  const policy = readKind(kind, options);
  return policy && { at: value.at, policies: [policy] };
}

function readManaged(named: YamlValue, { at }: YamlValue): PolicyData | undefined {
  const name = named.text(MANAGED) ?? '';
  if (isName(name)) return { at, policies: [], managed: name };
  named.problem(`managed must be the name of a policy: ${NAME_FORM}, got ${quoted(name)}`);
  return undefined;
}

function readKind(kind: YamlField, { where, name, mayName, noSlots }: PolicyOptions): Policy | undefined {
  const expected = 'its options, such as { limit: 100, window: 1m }';
  const fields = kind.value.fields(kind.name, expected);
  if (kind.value.isMissing) kind.value.problem(`${kind.name} must hold ${expected}`);
  if (!kind.value.isMap) return undefined;
  const own = fields.find((field) => field.name === 'name');
  if (own !== undefined && !mayName) {
    own.value.problemAtName(`${kind.name} must not have a name here: ${where} names it`);
    return undefined;
  }
  if (kind.name === 'concurrency' && noSlots !== undefined) {
    const instead = 'write the policy under limits:, and use /v1/acquire and /v1/release';
    kind.value.problemAtName(`concurrency holds a slot until it is released, and ${noSlots}; ${instead}`);
    return undefined;
  }
  const options = kind.value.plain() as Readonly<Record<string, unknown>>;
  try {
    return makePolicy(kind.name, own === undefined && name !== undefined ? { ...options, name } : options);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    const at = fields.find((field) => field.name === error.field)?.value ?? kind.value;
    if (error.code === 'SLUICE_OPTION_UNKNOWN') at.problemAtName(error.message);
    else at.problem(error.message);
    return undefined;
  }
}
