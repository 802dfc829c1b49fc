import { PrivateFields } from '@sluice/old-core/spi';

/** The key of a request or, with several limits, a key for each limit by name. */
export type FoundKeys = string | Readonly<Record<string, string>>;

/** The keys of a request without any. */
export const NO_KEYS: FoundKeys = Object.freeze({});

/** Records that a layer has seen a request, and its keys. */
export interface RequestMark {
  /** The layer, or that of which it is a variant. */
  readonly by: object;
  keys: FoundKeys | undefined;
  /** The mark that another layer has set before. */
  readonly before: RequestMark | undefined;
}

/** Stores the latest mark of each request, for the lifetime of the request. */
export interface RequestMarks {
  of(request: object): RequestMark | undefined;
  write(request: object, mark: RequestMark): void;
}

class MarkedRequest extends PrivateFields {
  #latest: RequestMark | undefined;

  static of(request: object): RequestMark | undefined {
    return #latest in request ? request.#latest : undefined;
  }

  static write(request: object, mark: RequestMark): void {
    const marked = #latest in request ? request : new MarkedRequest(request);
    marked.#latest = mark;
  }
}

/**
 * Stores marks in a private field of the request. Costs a tenth of {@link weakMapMarks}, unless each request has a
 * hidden class of its own.
 */
export const privateFieldMarks: RequestMarks = MarkedRequest;

/**
 * Stores marks in a WeakMap, for requests whose prototype the framework replaces, as Express does. On Node 20 each of
 * those has a hidden class of its own, and another one for every field that is added, including private ones.
 */
export const weakMapMarks: RequestMarks = marksIn(new WeakMap());

function marksIn(latest: WeakMap<object, RequestMark>): RequestMarks {
  return { of: (request) => latest.get(request), write: (request, mark) => void latest.set(request, mark) };
}

/** The mark that a layer has set on a request; undefined when it has set none. */
export function markOf(marks: RequestMarks, request: object, by: object): RequestMark | undefined {
  let mark = marks.of(request);
  while (mark !== undefined && mark.by !== by) mark = mark.before;
  return mark;
}

/** Marks a request as seen by a layer. Undefined when it is marked already. */
export function firstMark(marks: RequestMarks, request: object, by: object): RequestMark | undefined {
  const before = marks.of(request);
  if (before !== undefined && markOf(marks, request, by) !== undefined) return undefined;
  const mark: RequestMark = { by, keys: undefined, before };
  marks.write(request, mark);
  return mark;
}
