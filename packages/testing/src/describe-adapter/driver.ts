import type {
  AppDescription,
  ControlMessage,
  Described,
  LimitDescription,
  LimiterCall,
} from '../adapter-target/descriptions.ts';
import { limiterNamed, type Named } from './described.ts';
import type { ControlLine } from './contract-target.ts';
import type { Decision } from '@sluice/core';
import type { RateLimitInfo } from '@sluice/http';

/** The call of a handler, as a target records it. */
export interface RecordedCall {
  readonly method: string;
  /** The header `x-sent`. */
  readonly sent?: string;
  readonly rateLimit?: RateLimitInfo;
  /** When it began, by the clock of {@link Driver.now}. */
  readonly startedAtMs: number;
  /** The handlers of the application that ran when it began, itself included. */
  readonly running: number;
}

/** A decision that `onDecision` got. */
export type RecordedDecision = Decision & { readonly key: unknown; readonly header?: string };

/** A limiter in a target, beside its applications. */
export interface DrivenLimiter {
  /** For the option `limiter`. */
  readonly described: Named;
  consume(key: string): Promise<Decision>;
  peek(key: string): Promise<Decision>;
  reset(key: string): Promise<void>;
  unblock(key: string): Promise<void>;
  close(): Promise<void>;
  acquire(key: string): Promise<{ readonly decision: Decision; release(): Promise<void> }>;
}

/** A clock in a target that moves only when the driver moves it. */
export interface DrivenClock {
  readonly id: string;
  readonly atMs: number;
  advance(ms: number): Promise<void>;
  set(atMs: number): Promise<void>;
}

/** A list in a target, such as the calls of a handler. */
export interface DrivenList<Entry> {
  all(): Promise<readonly Entry[]>;
  count(): Promise<number>;
  reaches(count: number): Promise<void>;
}

/** An application that runs. */
export interface DrivenApp {
  readonly port: number;
  /** The calls of its handlers. */
  readonly calls: DrivenList<RecordedCall>;
  /** The decisions that the option `onDecision` recorded. */
  readonly decisions: DrivenList<RecordedDecision>;
  list<Entry>(name: string): DrivenList<Entry>;
  close(): Promise<void>;
}

/** Managed policies in a target, which several applications may open. */
export interface DrivenPolicies {
  /** Of the source, for {@link policiesOf}. */
  readonly id: string;
  put(name: string, policy: Described, options: { readonly apps: readonly string[] }): Promise<void>;
  remove(name: string): Promise<void>;
}

/** The driver's side of the control of a target. */
export class Driver {
  #line: ControlLine | undefined;
  #ids = 0;

  open(line: ControlLine): void {
    this.#line = line;
  }

  async close(): Promise<void> {
    await this.#line?.close();
    this.#line = undefined;
  }

  /** Resolves to the value of the answer. @throws the error that it has instead, with its name, code and field. */
  async ask<Value = void>(message: ControlMessage): Promise<Value> {
    if (this.#line === undefined) throw new Error('the target has not been opened');
    const answer = await this.#line.ask(message);
    if (!('error' in answer)) return answer.value as Value;
    const { message: text, ...rest } = answer.error;
    throw Object.assign(new Error(text), rest);
  }

  id(letter: string): string {
    return `${letter}${String(this.#ids++)}`;
  }

  async start(described: AppDescription, { http2 = false }: { readonly http2?: boolean } = {}): Promise<DrivenApp> {
    const app = this.id('app-');
    const { port } = await this.ask<{ port: number }>({ do: 'start', app, http2, described });
    return {
      port,
      calls: this.list(app, 'calls'),
      decisions: this.list(app, 'decisions'),
      list: (name) => this.list(app, name),
      close: async () => this.ask({ do: 'stop', app }),
    };
  }

  list<Entry>(of: string, list: string): DrivenList<Entry> {
    return {
      all: async () => this.ask<readonly Entry[]>({ do: 'records', of, list }),
      count: async () => this.ask<number>({ do: 'count', of, list }),
      reaches: async (count) => this.ask({ do: 'reach', of, list, count }),
    };
  }

  clock(atMs = 1_795_262_400_250): DrivenClock {
    const id = this.id('clock-');
    const set = async (to: number): Promise<void> => {
      atMs = to;
      await this.ask({ do: 'clock', clock: id, atMs });
    };
    return {
      id,
      get atMs() {
        return atMs;
      },
      set,
      advance: async (ms) => set(atMs + ms),
    };
  }

  async limiter(options: LimitDescription): Promise<DrivenLimiter> {
    const limiter = this.id('limiter-');
    await this.ask({ do: 'limiter', limiter, options });
    const call = async <Value>(method: LimiterCall, ...args: Described[]): Promise<Value> =>
      this.ask<Value>({ do: 'call', limiter, method, args });
    return {
      described: limiterNamed(limiter),
      consume: async (key) => call<Decision>('consume', key),
      peek: async (key) => call<Decision>('peek', key),
      reset: async (key) => call('reset', key),
      unblock: async (key) => call('unblock', key),
      close: async () => call('close'),
      acquire: async (key) => {
        const slot = this.id('slot-');
        const decision = await this.ask<Decision>({ do: 'acquire', limiter, key, slot });
        return { decision, release: async () => this.ask({ do: 'release', slot }) };
      },
    };
  }

  policies(): DrivenPolicies {
    const source = this.id('source-');
    return {
      id: source,
      put: async (name, policy, { apps }) => this.ask({ do: 'put', source, name, policy, apps }),
      remove: async (name) => this.ask({ do: 'remove', source, name }),
    };
  }

  /** Opens gates, once and for all. */
  async opens(...gates: readonly string[]): Promise<void> {
    await this.ask({ do: 'open', gates });
  }

  /** How far the target's clock is ahead of `performance.now()` of this process, at the least, in milliseconds. */
  async leadMs(): Promise<number> {
    let leastMs = -Infinity;
    for (let i = 0; i < 20; i++) {
      const { nowMs } = await this.ask<{ nowMs: number }>({ do: 'now' });
      leastMs = Math.max(leastMs, nowMs - performance.now());
    }
    return leastMs;
  }

  /** Since when the target's clock counts, in milliseconds since 1970: what its stores in memory go by. */
  async originMs(): Promise<number> {
    return (await this.ask<{ originMs: number }>({ do: 'now' })).originMs;
  }

  /** Timers that keep the target's process alive. */
  async timers(): Promise<number> {
    return this.ask<number>({ do: 'timers' });
  }
}
