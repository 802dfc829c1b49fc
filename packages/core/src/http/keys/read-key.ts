import { PolicyError, shown, typeError } from '../../errors.ts';
import { isThenable } from '../eventually.ts';
import type { RequestReader } from '../framework.ts';
import {
  byAll,
  byHeader,
  byIp,
  byMethod,
  byRoute,
  byUser,
  type Key,
  type KeyPart,
  type KeyReader,
  type KeyValue,
} from './key-parts.ts';

/** A slip that would pass for a function of the request. */
const FACTORIES: ReadonlySet<unknown> = new Set([byAll, byHeader, byIp, byMethod, byRoute, byUser]);

/** Reads a request's key; undefined when it has none. */
export type ReadKey<Request> = (request: Request) => string | undefined | Promise<string | undefined>;

/**
 * Turns the option `key` into a function.
 *
 * @throws PolicyError when it is no key.
 */
export function keyFunction<Request>(
  key: Key<Request>,
  reader: RequestReader<Request>,
  field = 'key',
): ReadKey<Request> {
  const parts = (Array.isArray(key) ? key : [key]) as readonly KeyPart<Request>[];
  if (parts.length === 0)
    throw new PolicyError(field, `${field} must have at least one part, got an empty list`, 'SLUICE_OPTION_INVALID');
  const reads = parts.map((part) => {
    if (FACTORIES.has(part)) {
      const { name } = part as { name: string };
      throw new PolicyError(
        field,
        `${field} must be what ${name}() makes, got the function itself; write ${name}()`,
        'SLUICE_OPTION_INVALID',
      );
    }
    if (typeof part === 'function') return part;
    if (typeof (part as Partial<KeyReader<Request>> | null | undefined)?.read === 'function')
      return (request: Request) => part.read(request, reader);
    throw new PolicyError(
      field,
      `${field} must be byIp(), byRoute(), byUser() or the like, a function of the request, or a list of these, got ${shown(part)}`,
      'SLUICE_OPTION_INVALID',
    );
  });
  const [only] = reads;
  if (reads.length === 1 && only !== undefined) {
    return (request) => {
      const value = only(request);
      return isThenable(value) ? Promise.resolve(value).then(partText) : partText(value);
    };
  }
  return (request) => {
    const values: KeyValue[] = [];
    for (let i = 0; i < reads.length; i++) {
      const value = (reads[i] as (typeof reads)[number])(request);
      if (isThenable(value)) return joinLater(values, value, reads.slice(i + 1), request);
      values.push(value);
    }
    return joinParts(values);
  };
}

/** Whether requests without this key are nothing unusual. */
export function isOptionalKey<Request>(key: Key<Request>): boolean {
  return ((Array.isArray(key) ? key : [key]) as readonly KeyPart<Request>[]).some(
    (part) => typeof part === 'object' && (part as KeyReader<Request> | null)?.optional === true,
  );
}

/**
 * One key of several parts, such that no two different lists of parts make the same; undefined when a part is missing.
 */
function joinParts(values: readonly KeyValue[]): string | undefined {
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

/** A part as text, as it stands where it is the whole key; undefined when it is missing. */
function partText(value: KeyValue): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (value === undefined || value === null) return undefined;
  if (Number.isFinite(value)) return String(value);
  throw typeError(
    'SLUICE_KEY_INVALID',
    `a part of a key must be a string or a number, got ${shown(value)}; nothing was consumed`,
  );
}

/** One part after the other, so that no part is left to fail unheard. */
async function joinLater<Request>(
  values: KeyValue[],
  pending: PromiseLike<KeyValue>,
  rest: readonly ((request: Request) => KeyValue | Promise<KeyValue>)[],
  request: Request,
): Promise<string | undefined> {
  values.push(await pending);
  for (const read of rest) values.push(await read(request));
  return joinParts(values);
}
