import {
  ALLOWED,
  BLOCK,
  CHARGE,
  DELAY,
  GIVE,
  NEXT_AFTER,
  PEEK,
  REMAINING,
  RENEW,
  RESET,
  RESET_AFTER,
  RETRY_AFTER,
  TAKE,
  USED,
} from '../../src/program/decide.ts';
import type { Answer, Ask, Plan } from './memory.ts';
import type { PolicyFigures, PolicyText, Step, Trace } from '../oracle/read-traces.ts';
import { plan } from './plans.ts';
import { makePolicy, milliseconds, type Policy } from './policies.ts';

interface Named {
  readonly name: string;
  readonly policy: Policy;
  readonly plan: Plan;
}

export interface Store {
  atMs: number;
  perform(op: number, asks: readonly Ask[]): Answer | Promise<Answer>;
}

/** What a step took: its asks, and when the units of each leave. */
interface Taken {
  readonly asks: readonly Ask[];
  readonly until: readonly number[];
  readonly allowed: boolean;
  isDone: boolean;
}

/** Plays the steps of a trace on the program alone: what a limiter makes of it, in its shortest form. */
export class ProgramPlayer {
  readonly #form: Trace['form'];
  readonly #store: Store;
  readonly #policies: Named[];
  readonly #taken = new Map<number, Taken>();
  #steps = 0;

  constructor({ form, policies }: Pick<Trace, 'form' | 'policies'>, store: Store) {
    this.#form = form;
    this.#store = store;
    this.#policies = policies.map(named);
  }

  /** The figures of each policy, if the step has an answer with figures. */
  async play(step: Step): Promise<readonly PolicyFigures[] | boolean | undefined> {
    const number = this.#steps++;
    this.#store.atMs = step.atMs;
    const { op, cost = 1 } = step;
    if (op === 'change') {
      const next = named(step.policy ?? { kind: '' });
      this.#policies[this.#policies.findIndex(({ name }) => name === next.name)] = next;
      return undefined;
    }
    if (op === 'consume' || op === 'peek' || op === 'reserve' || op === 'acquire') return this.#decide(number, step);
    const taken = step.of === undefined ? undefined : this.#taken.get(step.of);
    if (op === 'renew') return this.#renew(taken);
    if (taken !== undefined) await this.#settle(taken, op, step);
    else if (step.key !== undefined) {
      const ops = { refund: GIVE, charge: CHARGE, reset: RESET, block: BLOCK, unblock: BLOCK };
      const until = op === 'block' ? milliseconds(step.duration ?? 0) : 0;
      for (const ask of this.#asks(step, cost)) {
        // A slot is taken by its holder alone.
        const cost = ops[op as 'refund'] === BLOCK ? Number(step.reset === true) : ask.cost;
        if (op !== 'charge' || !isSlot(ask)) await this.#store.perform(ops[op as 'refund'], [{ ...ask, cost, until }]);
      }
    }
    return undefined;
  }

  async #decide(number: number, step: Step): Promise<readonly PolicyFigures[]> {
    const { op, cost = 1 } = step;
    const asks = this.#asks(step, cost, op === 'peek' ? 0 : number + 1);
    const { atMs, figures } = await this.#store.perform(op === 'peek' ? PEEK : TAKE, asks);
    const allowed = figures.every((told) => told[ALLOWED] === 1);
    this.#taken.set(number, {
      asks,
      allowed: allowed && op !== 'peek',
      until: figures.map((told) => atMs + (told[RESET_AFTER] ?? 0)),
      isDone: false,
    });
    return figures.map((told, i) => this.#figures(asks[i]?.plan, told));
  }

  #figures(plan: Plan | undefined, told: readonly number[]): PolicyFigures {
    const { name, policy } = this.#policies.find((one) => one.plan === plan) as Named;
    const figure = (place: number): number => told[place] ?? Number.NaN;
    const orNull = (place: number): number | null => (figure(place) === -1 ? null : figure(place));
    return {
      name,
      allowed: figure(ALLOWED) === 1,
      limit: plan?.numbers[0] ?? Number.NaN,
      remaining: figure(REMAINING),
      used: figure(USED),
      retryAfterMs: orNull(RETRY_AFTER),
      resetAfterMs: figure(RESET_AFTER),
      delayMs: figure(DELAY),
      windowMs: policy.windowMs,
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
      if (back > 0) await this.#store.perform(GIVE, [{ ...ask, cost: back, until }]);
      else if (back < 0 && !isSlot(ask)) await this.#store.perform(CHARGE, [{ ...ask, cost: -back, until }]);
    }
  }

  async #renew(taken: Taken | undefined): Promise<boolean> {
    if (taken?.allowed !== true || taken.isDone) return false;
    const renewed: boolean[] = [];
    for (const ask of taken.asks.filter(isSlot)) {
      const { figures } = await this.#store.perform(RENEW, [ask]);
      renewed.push(figures[0]?.[ALLOWED] === 1);
    }
    return renewed.every(Boolean);
  }

  #asks({ key }: Step, cost: number, holder = 0): Ask[] {
    return this.#policies.flatMap(({ name, plan }) => {
      const own = typeof key === 'object' ? key[name] : key;
      if (own === undefined) return [];
      return [
        {
          key: `${this.#form === 'limits' ? name : ''}${name}:${own}`,
          plan,
          cost,
          holder: plan.kind === 'h' ? holder : 0,
        },
      ];
    });
  }
}

function named(text: PolicyText): Named {
  const policy = makePolicy(text);
  return { name: text.name ?? 'oracle', policy, plan: plan(policy) };
}

const isSlot = ({ plan }: Ask): boolean => plan.kind === 'h';
