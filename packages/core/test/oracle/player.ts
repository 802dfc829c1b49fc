import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Acquisition,
  type Decision,
  type EarlierVersion,
  type Limit,
  type Limiter,
  type Policy,
  type Reservation,
  type Store,
} from '@sluice/core';
import { MAKES_SOURCE, namePolicy, sourceKeySuffix, type LimitReference } from '@sluice/core/spi';
import type { FakeClock } from '@sluice/testkit';
import { FIGURES, POLICY_FIGURES, type Figures, type PolicyText, type Step, type Trace } from './read-traces.ts';

const MAKERS: Readonly<Record<string, (options: never) => Policy>> = {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
};

export function policyOf({ kind, ...options }: PolicyText): Policy {
  return (MAKERS[kind] as (options: object) => Policy)(options);
}

type AnyLimiter = Limiter<never>;
/** What an operation returned that later ones are about. */
type Returned = { readonly limiter: AnyLimiter; readonly decision: Decision } & Partial<Acquisition & Reservation>;

/** Plays the steps of a trace on this core. */
export class Player {
  readonly #trace: Omit<Trace, 'steps' | 'seed' | 'tags'>;
  readonly #store: Store;
  readonly #clock: FakeClock;
  readonly #policies: PolicyText[];
  readonly #managed: ReadonlyMap<string, ManagedPolicy>;
  readonly #limiters: AnyLimiter[] = [];
  readonly #returned = new Map<number, Returned>();
  #steps = 0;

  constructor(trace: Omit<Trace, 'steps' | 'seed' | 'tags'>, store: Store, clock: FakeClock) {
    this.#trace = trace;
    this.#store = store;
    this.#clock = clock;
    this.#policies = [...trace.policies];
    this.#managed = new Map(trace.policies.map((policy) => [policy.name ?? '', new ManagedPolicy(policy)]));
    this.#open();
  }

  /** The step, with the answer of this core. */
  async play({ figures: _, held: __, ...step }: Step): Promise<Step> {
    this.#clock.atMs = step.atMs;
    const number = this.#steps++;
    const answer = await this.#call(step);
    if (typeof answer === 'boolean') return { ...step, held: answer };
    if (answer === undefined) return step;
    this.#returned.set(number, answer);
    return { ...step, figures: figuresOf(answer.decision) };
  }

  async close(): Promise<void> {
    await Promise.all(this.#limiters.map((limiter) => limiter.close()));
  }

  async #call(step: Step): Promise<Returned | boolean | undefined> {
    const limiter = this.#limiters.at(-1) as AnyLimiter;
    const { key, cost = 1, of = -1, duration = 1, reset = false } = step as Step & { readonly key: never };
    const subject = this.#returned.get(of) as Returned;
    switch (step.op) {
      case 'consume':
        return { limiter, decision: await limiter.consume(key, cost) };
      case 'peek':
        return { limiter, decision: await limiter.peek(key, cost) };
      case 'reserve':
        return { limiter, ...(await limiter.reserve(key, cost)) };
      case 'acquire':
        return { limiter, ...(await limiter.acquire(key, { cost, holder: step.holder })) };
      case 'renew':
        return (await subject.renew?.()) ?? false;
      case 'refund':
        await (step.of === undefined ? limiter.refund(key, cost) : subject.limiter.refund(subject.decision, step.cost));
        return undefined;
      case 'charge':
        await limiter.charge(key, cost);
        return undefined;
      case 'settle':
        await subject.settle?.(cost);
        return undefined;
      case 'cancel':
        await subject.cancel?.();
        return undefined;
      case 'release':
        await subject.release?.();
        return undefined;
      case 'reset':
        await limiter.reset(key);
        return undefined;
      case 'block':
        await limiter.block(key, duration, { reset });
        return undefined;
      case 'unblock':
        await limiter.unblock(key);
        return undefined;
      case 'change':
        this.#change(step.policy as PolicyText);
        return undefined;
    }
  }

  #change(policy: PolicyText): void {
    this.#policies[this.#policies.findIndex(({ name }) => name === policy.name)] = policy;
    if (this.#trace.changes === 'managed') this.#managed.get(policy.name ?? '')?.versions.push(policy);
    else this.#open();
  }

  /** A limiter with the policies of now, on the keys of those before. */
  #open(): void {
    const { form, changes } = this.#trace;
    const policies = this.#policies.map((policy) => ({
      name: policy.name ?? '',
      policy: changes === 'managed' ? (this.#managed.get(policy.name ?? '') as ManagedPolicy) : policyOf(policy),
    }));
    const what =
      form === 'limits'
        ? { limits: policies }
        : { policy: form === 'one' ? policies[0]?.policy : policies.map(({ policy }) => policy) };
    this.#limiters.push(
      createLimiter({
        ...(what as { policy: Policy }),
        ...{
          name: 'oracle',
          shared: true,
          store: this.#store,
          onStoreError: 'throw',
          timeoutMs: 60_000,
          denialCache: false,
        },
      }),
    );
  }
}

/** A policy whose numbers change while its keys live on: it knows all of its versions, and its users follow at once. */
class ManagedPolicy implements LimitReference {
  readonly name: string;
  readonly versions: PolicyText[];

  constructor(policy: PolicyText) {
    this.name = policy.name ?? 'oracle';
    this.versions = [policy];
  }

  readonly [MAKES_SOURCE]: LimitReference[typeof MAKES_SOURCE] = (name, { limitOf }) => {
    const keySuffix = sourceKeySuffix(this.name);
    let known: Limit | undefined;
    const current = (): Limit => {
      const version = this.versions.length;
      if (known?.policyVersion?.version === version) return known;
      const named = this.versions.map((policy) => [namePolicy(policyOf(policy), name)]);
      const earlier = named.map((policies, i): [number, EarlierVersion] => [i + 1, { policies, carryOver: 'keep' }]);
      const versions = { version, earlier: new Map(earlier.slice(0, -1)), renew: () => Promise.resolve(current()) };
      return (known = limitOf(named[version - 1] ?? [], keySuffix, versions));
    };
    return { name, keySuffix, onMissing: 'deny', current };
  };
}

/** The figures of a decision that traces hold. */
function figuresOf(decision: Decision): Figures {
  return { ...picked(decision, FIGURES), policies: decision.policies.map((policy) => picked(policy, POLICY_FIGURES)) };
}

function picked<Whole extends object, Name extends keyof Whole>(
  whole: Whole,
  names: readonly Name[],
): Pick<Whole, Name> {
  return Object.fromEntries(names.map((name) => [name, whole[name]])) as Pick<Whole, Name>;
}
