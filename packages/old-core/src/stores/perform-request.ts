import { evaluate } from '../engine/evaluate.ts';
import { hashed } from '../engine/key.ts';
import { keyResetAtMs } from '../engine/key-contents.ts';
import { partsOf, type KeyState, type Part, type StoreAnswer, type StoreRequest } from '../engine/store.ts';
import { readValue, withStates, writeWhole } from './redis/value.ts';

/** The writes of a store after a request: all of it, in the transaction that has read the texts. */
export interface KeyChange {
  readonly key: string;
  /** Undefined removes the key. */
  readonly text: string | undefined;
  /** From this instant of the store's clock on, the key decides as if it were not there, and may be removed. */
  readonly endsAtMs: number;
}

/** The outcome of a request. */
export interface Performed {
  readonly answer: StoreAnswer;
  /** At most one for each key; none where the request changes nothing, as a denial does. */
  readonly changes: readonly KeyChange[];
}

/**
 * The keys of a request, in the order of its parts: well-formed text without a NUL, of some 400 characters at most.
 * They hold the caller's key, so compare them byte by byte: no folding of case, no trimming. Two parts may have the
 * same key.
 */
export function keysOf(request: StoreRequest): readonly string[] {
  return partsOf(request).map((part) => `${textOf(part)}${part.limit.keySuffix}`);
}

/**
 * Performs one request of a store that keeps a text for each key: every operation over every policy, by the same
 * kernels and with the same results as `memoryStore` and `redisStore`. Pure: reads no clock, and writes nothing.
 *
 * @param texts - For each key of {@link keysOf}, what the last change has written; undefined where there is nothing.
 * @param nowMs - The instant of the store's clock, in whole milliseconds: one for all requests of a call. Not that of
 * the caller, where several processes share the store.
 * @returns The answer and the changes; or a StoreError `SLUICE_STORE_KEY_FOREIGN` for a text that this function has not
 * written, which is the answer to that request.
 */
export function performRequest(
  request: StoreRequest,
  texts: readonly (string | undefined)[],
  nowMs: number,
): Performed | Error {
  const parts = partsOf(request);
  const names = keysOf(request);
  const found = new Map<string, { readonly key: KeyState; limit: Part['limit'] }>();
  const keys: KeyState[] = [];
  for (const [i, part] of parts.entries()) {
    const name = names[i] as string;
    const known = found.get(name);
    const key = known?.key ?? readKey(part, texts[i]);
    if (key instanceof Error) return key;
    found.set(name, { key, limit: part.limit });
    keys.push(key);
  }
  const { answer, changed } = evaluate(request, keys, nowMs);
  const changes = [...found].flatMap(([key, { key: after, limit }]): readonly KeyChange[] => {
    if (!changed && after.touched !== true) return [];
    const text = writeWhole(limit, after, nowMs);
    return [{ key, text: text === '' ? undefined : text, endsAtMs: keyResetAtMs(limit, after) }];
  });
  return { answer, changes };
}

function readKey(part: Part, text: string | undefined): KeyState | Error {
  const name = `{${part.subject}}${part.limit.keySuffix}`;
  const key = readValue(text, name, part.limit);
  return key instanceof Error ? key : withStates(key, part.limit, name);
}

/**
 * A hash replaces a subject with lone surrogates, which become the same character in UTF-8, or with a NUL, at which
 * drivers of databases cut a text.
 */
function textOf({ subject }: Part): string {
  return subject.isWellFormed() && !subject.includes('\0') ? subject : hashed(subject);
}
