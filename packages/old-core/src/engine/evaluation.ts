import type { StoreAnswer } from './store.ts';

/**
 * The result of `evaluate`: its answer, and whether the request changed its keys. A key that is `touched` has
 * changed in any case.
 */
export interface Evaluation {
  readonly answer: StoreAnswer;
  readonly changed: boolean;
}
