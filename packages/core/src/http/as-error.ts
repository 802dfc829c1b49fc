import { shown } from '../errors.ts';

/**
 * What was thrown, if it is an object. Anything else could tell a framework something else: nothing to go on, `'route'` to
 * pass over the handler.
 */
export function asError(thrown: unknown): object {
  if (typeof thrown === 'object' && thrown !== null) return thrown;
  return new Error(`not an error was thrown: ${shown(thrown)}`, { cause: thrown });
}
