import { PolicyError, shown, typeError } from '../../errors.ts';
import { warnOnce } from '../../warnings.ts';
import { isThenable, mapMaybe, type MaybePromise } from '../maybe.ts';
import type { AnyReader } from '../framework.ts';
import {
  addressMissing,
  byAll,
  byHeader,
  byIp,
  byMethod,
  byRoute,
  byUser,
  readsAddress,
  type KeyPart,
  type KeyReader,
  type KeyValue,
} from './key-parts.ts';

/** Passing one of these uncalled is a mistake that would be taken for a function of the request. */
const FACTORIES: ReadonlySet<unknown> = new Set([byAll, byHeader, byIp, byMethod, byRoute, byUser]);

/** Reads the key of a request; undefined if it has none. */
export type ReadKey = (request: object, reader: AnyReader, response?: unknown) => MaybePromise<string | undefined>;
type PartReader = Pick<KeyReader<object>, 'read'>;

/**
 * Checks the option `key`.
 *
 * @throws PolicyError for a bad value.
 */
export function parseKey(given: unknown = byIp(), field: string): readonly KeyPart<object>[] {
  const parts: readonly unknown[] = Array.isArray(given) ? given : [given];
  const fail = (what: string): never => {
    throw new PolicyError(field, `${field} must ${what}`, 'SLUICE_OPTION_INVALID');
  };
  if (parts.length === 0) fail('have at least one part, got an empty list');
  for (const part of parts) {
    if (FACTORIES.has(part)) {
      const { name } = part as { name: string };
      fail(`be the result of ${name}(), got the function itself; write ${name}()`);
    }
    if (typeof part === 'function' || typeof (part as Partial<KeyReader<never>> | null)?.read === 'function') continue;
    const known = 'byIp(), byRoute(), byUser() or the like, a function of the request, or a list of these';
    fail(`be ${known}, got ${shown(part)}`);
  }
  return parts as readonly KeyPart<object>[];
}

/**
 * Turns a key into a function.
 *
 * @param parts - What {@link parseKey} returned.
 * @throws PolicyError for a part that requests do not have here.
 */
export function keyFunction(parts: readonly KeyPart<object>[], reader: AnyReader, field: string): ReadKey {
  const readers = parts.map((part): PartReader => {
    if (typeof part === 'function') return { read: (request, _reader, response) => part(request, response) };
    if (reader.noAddress !== undefined && readsAddress(part)) throw addressMissing(field, reader.noAddress);
    return part;
  });
  const [only] = readers;
  if (readers.length === 1 && only !== undefined) {
    if (readsAddress<object>(only)) return only.read;
    return (...call) => mapMaybe(only.read(...call), partText);
  }
  // One part after the other: in parallel, the rejection of a second part would be unhandled.
  const readFrom = (start: number, values: KeyValue[], ...call: Parameters<ReadKey>): ReturnType<ReadKey> => {
    for (let i = start; i < readers.length; i++) {
      const value = (readers[i] as PartReader).read(...call);
      if (isThenable(value)) return Promise.resolve(value).then((late) => readFrom(i + 1, [...values, late], ...call));
      values.push(value);
    }
    return joinParts(values);
  };
  return (...call) => readFrom(0, [], ...call);
}

/** Tells the developer once, and never the client, why the requests of a limiter are denied without a decision. */
export function warnOfMissingKey(limiter: string): void {
  warnOnce(
    'SLUICE_KEY_MISSING',
    `the limiter ${limiter} denies a request because its option key found nothing to count it by. ` +
      "If that is right, write onMissingKey: 'deny'; otherwise 'skip' or 'shared', or another key. " +
      'A key of the body needs its parser before the limiter.',
    limiter,
  );
}

/** Whether requests without this key are common. */
export function isOptionalKey(parts: readonly KeyPart<object>[]): boolean {
  return parts.some((part) => typeof part === 'object' && part.optional);
}

/**
 * Joins parts to one key; undefined if a part is missing. Different lists of parts never make the same key.
 */
export function joinParts(values: readonly KeyValue[]): string | undefined {
  let joined = '';
  for (let i = 0; i < values.length; i++) {
    const text = partText(values[i]);
    if (text === undefined) return undefined;
    joined +=
      (i === 0 ? '' : '|') +
      (text.includes('|') || text.includes('%') ? text.replaceAll('%', '%25').replaceAll('|', '%7C') : text);
  }
  return joined;
}

/** A part as text, unescaped; undefined if it is missing. */
function partText(value: KeyValue): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (value === undefined || value === null) return undefined;
  if (Number.isFinite(value)) return String(value);
  throw typeError(
    'SLUICE_KEY_INVALID',
    `a part of a key must be a string or a number, got ${shown(value)}; nothing was consumed`,
  );
}
