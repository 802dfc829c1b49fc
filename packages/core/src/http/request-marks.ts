/** The key of a request or, with several limits, a key for each limit by name. */
export type FoundKeys = string | Readonly<Record<string, string>>;

/** Records that a limiter has seen a request, and its keys. */
export interface RequestMark {
  readonly by: object;
  keys: FoundKeys | undefined;
  /** How long the request has waited for the store here, in milliseconds: its limiters share one patience. */
  waitedMs: number;
  /** The mark that another limiter has set before. */
  readonly before: RequestMark | undefined;
}

/** Stores the latest mark of each request, for the lifetime of the request. */
export interface RequestMarks {
  read(request: object): RequestMark | undefined;
  write(request: object, mark: RequestMark): void;
}

/** Returns the object that it is given, so that a subclass adds private fields to it. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its constructor is what a subclass needs
class Given {
  constructor(given: object) {
    return given;
  }
}

/** Stores marks in a private field of the request, which costs a tenth of a WeakMap. */
class MarkedRequest extends Given {
  #latest: RequestMark | undefined;

  static read(request: object): RequestMark | undefined {
    return #latest in request ? request.#latest : undefined;
  }

  static write(request: object, mark: RequestMark): void {
    const marked = #latest in request ? request : new MarkedRequest(request);
    marked.#latest = mark;
  }
}

export const privateFieldMarks: RequestMarks = MarkedRequest;

/** The mark that a limiter has set on a request; undefined if it has set none. */
export function findMark(marks: RequestMarks, request: object, by: object): RequestMark | undefined {
  let mark = marks.read(request);
  while (mark !== undefined && mark.by !== by) mark = mark.before;
  return mark;
}

/** Marks a request as seen by a limiter. Undefined if it is marked already. */
export function markOnce(marks: RequestMarks, request: object, by: object): RequestMark | undefined {
  const before = marks.read(request);
  for (let mark = before; mark !== undefined; mark = mark.before) if (mark.by === by) return undefined;
  const mark: RequestMark = { by, keys: undefined, waitedMs: 0, before };
  marks.write(request, mark);
  return mark;
}
