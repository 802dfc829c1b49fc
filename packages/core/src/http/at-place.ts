import { PolicyError } from '../errors.ts';

/** How errors of options begin that do not know their place. */
const UNPLACED = /^rateLimit(?= (has no option|takes|needs) )/;
/** The code at the end of a message, which the new error adds again. */
const CODE = / \[SLUICE_\w+\]$/;

/**
 * Does work whose errors of options name a place, such as `config.rateLimit of GET /orders`: adapters whose options do
 * not stand where `rateLimit()` is called.
 *
 * @throws PolicyError with the place in its message; anything else as it is.
 */
export function atPlace<T>(place: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PolicyError) || error.message.includes(place)) throw error;
    const told = error.message.replace(CODE, '');
    const message = UNPLACED.test(told) ? told.replace(UNPLACED, () => place) : `${place}: ${told}`;
    throw new PolicyError(error.field, message, error.code);
  }
}
