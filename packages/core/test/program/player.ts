import { ALLOWED, DELAY, NEXT_AFTER, REMAINING, RESET_AFTER, RETRY_AFTER, USED } from '../../src/program/decide.ts';
import { compile, MAKERS, type Policy } from '../../src/policies/index.ts';
import type { Ask, Op } from '../../src/stores/store.ts';
import { parseDuration } from '../../src/values/duration.ts';
import type { PolicyFigures, PolicyText, Step, Trace } from '../oracle/read-traces.ts';
import type { Clocked } from './stores.ts';

interface Named {
  readonly name: string;
  readonly policy: Policy;
}

/** What a step took: its asks, and when the units of each leave. */
interface Taken {
  readonly asks: readonly Ask[];
  readonly until: readonly number[];
  readonly allowed: boolean;
  isDone: boolean;
}

/** Plays the steps of a trace on the program alone: what a limiter makes of it, in its shortest form. */
export class TracePlayer {
  readonly #form: Trace['form'];
  readonly #store: Clocked;
  readonly #policies: Named[];
  readonly #taken = new Map<number, Taken>();
  #steps = 0;

  constructor({ form, policies }: Pick<Trace, 'form' | 'policies'>, store: Clocked) {
    this.#form = form;
    this.#store = store;
    this.#policies = policies.map(named);
  }

  /** The figures of each policy, if the step has an answer with figures. */
  async play(step: Step): Promise<readonly PolicyFigures[] | boolean | undefined> {
    const number = this.#steps++;
    this.#store.clock.atMs = step.atMs;
    const { op, cost = 1 } = step;
    if (op === 'consume' || op === 'peek' || op === 'reserve' || op === 'acquire') return this.#decide(number, step);
    const taken = step.of === undefined ? undefined : this.#taken.get(step.of);
    if (op === 'renew') return this.#renew(taken);
    if (taken !== undefined) await this.#settle(taken, op, step);
    else if (step.key !== undefined) await this.#edit(op, step, cost);
    return undefined;
  }

  async #edit(op: Step['op'], step: Step, cost: number): Promise<void> {
    const isBlock = op === 'block' || op === 'unblock';
    const until = op === 'block' ? parseDuration(step.duration, 'duration') : 0;
    for (const ask of this.#asks(step, isBlock ? Number(step.reset === true) : cost)) {
      // A slot is taken by its holder alone.
      if (op === 'charge' && isSlot(ask)) continue;
      await this.#store.perform(isBlock ? 'block' : op === 'refund' ? 'give' : (op as Op), [{ ...ask, until }]);
    }
  }

  async #decide(number: number, step: Step): Promise<readonly PolicyFigures[]> {
    const { op, cost = 1 } = step;
    const asks = this.#asks(step, cost, op === 'peek' ? 0 : number + 1);
    const { atMs, figures } = await this.#store.perform(op === 'peek' ? 'peek' : 'take', asks);
    const allowed = figures.every((told) => told[ALLOWED] === 1);
    this.#taken.set(number, {
      asks,
      allowed: allowed && op !== 'peek',
      until: figures.map((told) => atMs + (told[RESET_AFTER] ?? 0)),
      isDone: false,
    });
    return asks.map((ask, i) => this.#figures(ask, figures[i] ?? []));
  }

  #figures({ policy }: Ask, told: readonly number[]): PolicyFigures {
    const { limit, windowMs } = compile(policy);
    const figure = (place: number): number => told[place] ?? Number.NaN;
    const orNull = (place: number): number | null => (figure(place) === -1 ? null : figure(place));
    return {
      name: this.#policies.find((one) => one.policy === policy)?.name ?? '',
      allowed: figure(ALLOWED) === 1,
      limit,
      remaining: figure(REMAINING),
      used: figure(USED),
      retryAfterMs: orNull(RETRY_AFTER),
      resetAfterMs: figure(RESET_AFTER),
      delayMs: figure(DELAY),
      windowMs,
      nextAfterMs: orNull(NEXT_AFTER),
    };
  }

  async #settle(taken: Taken, op: Step['op'], { cost }: Step): Promise<void> {
    if (!taken.allowed || taken.isDone) return;
    taken.isDone = true;
    for (const [i, ask] of taken.asks.entries()) {
      if (op === 'release' && !isSlot(ask)) continue; // what was taken beside a slot stays taken
      const until = taken.until[i] ?? 0;
      const back = op === 'settle' ? ask.cost - (cost ?? 0) : (cost ?? ask.cost);
      if (back > 0) await this.#store.perform('give', [{ ...ask, cost: back, until }]);
      else if (back < 0 && !isSlot(ask)) await this.#store.perform('charge', [{ ...ask, cost: -back, until }]);
    }
  }

  async #renew(taken: Taken | undefined): Promise<boolean> {
    if (taken?.allowed !== true || taken.isDone) return false;
    const renewed: boolean[] = [];
    for (const ask of taken.asks.filter(isSlot)) {
      const { figures } = await this.#store.perform('renew', [ask]);
      renewed.push(figures[0]?.[ALLOWED] === 1);
    }
    return renewed.every(Boolean);
  }

  #asks({ key }: Step, cost: number, holder = 0): Ask[] {
    return this.#policies.flatMap(({ name, policy }): Ask[] => {
      const own = typeof key === 'object' ? key[name] : key;
      if (own === undefined) return [];
      const ask = { key: `${this.#form === 'limits' ? name : ''}${name}:${own}`, policy, cost };
      return [isSlot(ask) ? { ...ask, holder } : ask];
    });
  }
}

function named({ kind, name = 'oracle', ...options }: PolicyText): Named {
  const make = MAKERS[kind as keyof typeof MAKERS] as (options: object) => Policy;
  return { name, policy: make(options) };
}

const isSlot = ({ policy }: Ask): boolean => policy.algorithm === 'concurrency';
