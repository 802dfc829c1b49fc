import type { Answer } from './visitor.ts';

/** One policy of a `RateLimit` field: `"search";r=0;t=2`. */
interface PolicyState {
  readonly name: string;
  readonly remaining: number;
  readonly nextInSeconds: number;
}

/** The advice of the API's `RateLimit` and `Retry-After` fields: when to use which route again. */
export class Advice {
  readonly #policiesOf = new Map<string, readonly string[]>();
  /** By policy, and by route. */
  readonly #freeAtMs = new Map<string, number>();

  /** @param cost - Units that the next request to this route costs. */
  learn(route: string, answer: Answer, cost = 1): void {
    const states = parseStates(answer.field('ratelimit') ?? '');
    this.#policiesOf.set(
      route,
      states.map(({ name }) => name),
    );
    for (const { name, remaining, nextInSeconds } of states) {
      if (remaining < cost) this.#hold(name, nextInSeconds);
    }
    this.#hold(route, Number(answer.field('retry-after') ?? 0));
  }

  /** How long to wait before the next request to the route; 0 for no wait. */
  waitMs(route: string): number {
    const policies = this.#policiesOf.get(route) ?? [...this.#freeAtMs.keys()];
    return Math.max(0, ...[route, ...policies].map((name) => (this.#freeAtMs.get(name) ?? 0) - performance.now()));
  }

  #hold(name: string, seconds: number): void {
    if (seconds > 0) this.#freeAtMs.set(name, performance.now() + seconds * 1000);
  }
}

function parseStates(field: string): readonly PolicyState[] {
  return [...field.matchAll(/"([^"]+)";r=(\d+)(?:;t=(\d+))?/g)].map(([, name = '', remaining, seconds]) => ({
    name,
    remaining: Number(remaining),
    nextInSeconds: Number(seconds ?? 0),
  }));
}
