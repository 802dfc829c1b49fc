import type { Limit } from '@sluice/core';
import { keyResetAtMs, type KeyState } from '@sluice/core/spi';

/** The states of one limit as stores decode them, by the numbers of their keys. */
export class WholeStates {
  readonly #limit: Limit;
  readonly #states: (KeyState | undefined)[] = [];

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  /** The state of a key, which decisions change in place. */
  of(id: number): KeyState {
    return (this.#states[id] ??= { blockedUntilMs: 0, states: this.#limit.policies.map(() => undefined) });
  }

  resetAtMs(id: number): number {
    const state = this.#states[id];
    return state === undefined ? 0 : keyResetAtMs(this.#limit, state);
  }

  write(id: number, state: KeyState | undefined): void {
    this.#states[id] = state;
  }
}
