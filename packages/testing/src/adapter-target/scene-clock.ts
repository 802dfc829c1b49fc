import type { Clock } from '@sluice/core';

/** A clock of a scenario: it moves when the driver moves it, or with real time once it has been started. */
export class SceneClock implements Clock {
  atMs: number;
  #startedMs: number | undefined;

  constructor(atMs: number) {
    this.atMs = atMs;
  }

  start(): void {
    this.#startedMs ??= performance.now();
  }

  now(): number {
    return this.#startedMs === undefined ? this.atMs : this.atMs + performance.now() - this.#startedMs;
  }
}
