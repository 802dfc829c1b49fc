/** Whether a function of the user answered a promise, of whatever make. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && typeof (value as Partial<PromiseLike<T>>).then === 'function';
}

/**
 * Goes on with a value: in this very tick where it is there, or else when it comes. A promise costs more than most of what
 * is done with a request, and few need one.
 */
export function eventually<T, Result>(
  value: T | PromiseLike<T>,
  goOn: (value: T) => Result | Promise<Result>,
): Result | Promise<Result> {
  return isThenable(value) ? Promise.resolve(value).then(goOn) : goOn(value);
}
