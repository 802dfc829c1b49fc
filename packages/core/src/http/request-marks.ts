import type { AnyReader, RawRequest } from './framework.ts';

/** The key of a request or, with several limits, a key for each limit by name. */
export type FoundKeys = string | Readonly<Record<string, string>>;

/** Records that a limiter has seen a request, and its keys. */
export interface RequestMark {
  readonly by: object;
  /** Undefined until the keys are known. */
  keys: FoundKeys | undefined;
  /** Time that the request has waited for stores, on behalf of this limiter. */
  waitedMs: number;
  readonly before: RequestMark | undefined;
}

const MARK: unique symbol = Symbol('mark');
interface Locals {
  [MARK]?: RequestMark;
}

/** Its constructor returns the object that it is given, so that a subclass adds private fields to it. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its constructor is what a subclass needs
class Given {
  constructor(given: object) {
    return given;
  }
}

/** Stores the latest mark in a private field of the request, which costs a tenth of a WeakMap. */
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

/** The mark that a limiter has set on a request; undefined if it has set none. */
export function findMark(framework: AnyReader, request: object, by: object): RequestMark | undefined {
  const locals = framework.locals?.(request) as Locals | undefined;
  let mark = locals === undefined ? MarkedRequest.read(framework.rawRequest(request)) : locals[MARK];
  while (mark !== undefined && mark.by !== by) mark = mark.before;
  return mark;
}

/** Marks a request as seen by a limiter. Undefined if it is marked already. */
export function markOnce(framework: AnyReader, request: object, raw: RawRequest, by: object): RequestMark | undefined {
  const locals = framework.locals?.(request) as Locals | undefined;
  const before = locals === undefined ? MarkedRequest.read(raw) : locals[MARK];
  for (let mark = before; mark !== undefined; mark = mark.before) if (mark.by === by) return undefined;
  const mark: RequestMark = { by, keys: undefined, waitedMs: 0, before };
  if (locals === undefined) MarkedRequest.write(raw, mark);
  else locals[MARK] = mark;
  return mark;
}
