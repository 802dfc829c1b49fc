import { CallError, Status } from '../../grpc/status.ts';

/**
 * The members of an object, by the names that JSON has for fields of protobuf (`hitsAddend`) or by those of the
 * `.proto` file (`hits_addend`). As in protobuf's JSON, null is no value.
 *
 * @param at - Where the object is, for errors.
 * @throws CallError `INVALID_ARGUMENT` for other values, unknown members, and a member under both names.
 */
export function membersOf<Name extends string>(
  value: unknown,
  at: string,
  names: readonly Name[],
): Readonly<Partial<Record<Name, unknown>>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(at, 'an object', value);
  const members: Partial<Record<Name, unknown>> = {};
  const given = new Set<Name>();
  for (const [key, member] of Object.entries(value)) {
    const name = names.find((one) => one === key || originalName(one) === key);
    if (name === undefined) throw invalid(`${at} has no field ${shown(key)}; known: ${names.join(', ')}`);
    if (given.has(name)) throw invalid(`${at} has the field ${name} twice`);
    given.add(name);
    if (member !== null) members[name] = member as unknown;
  }
  return members;
}

/** @throws CallError `INVALID_ARGUMENT` for what is no list. No value is an empty one. */
export function listOf(value: unknown, at: string): readonly unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw wrong(at, 'a list', value);
  return value;
}

/** An error that names a field, what it should have, and what it has. */
export function wrong(at: string, expected: string, value: unknown): CallError {
  return invalid(`${at}: expected ${expected}, got ${shown(value)}`);
}

function invalid(message: string): CallError {
  return new CallError(Status.INVALID_ARGUMENT, `${message}; nothing was consumed`);
}

function originalName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const LONGEST_SHOWN = 64;

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = JSON.stringify(value);
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}...`;
}
