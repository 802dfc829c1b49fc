export type MaybePromise<T> = T | Promise<T>;

/** Whether a value is any kind of promise: the user's functions may return those of other libraries. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && typeof (value as Partial<PromiseLike<T>>).then === 'function';
}

/**
 * Applies a function to a value: in the same tick or, for a promise, once it resolves. A promise costs more than most
 * of the work for a request, and few requests need one.
 */
export function mapMaybe<T, Result>(
  value: T | PromiseLike<T>,
  next: (value: T) => MaybePromise<Result>,
): MaybePromise<Result> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value);
}
