import { isDeepStrictEqual } from 'node:util';
import type { Redis } from 'ioredis';
import {
  escalate,
  memoryStore,
  type Limit,
  type Part,
  type Policy,
  type PolicyDecision,
  type Store,
  type StoreAnswer,
  type StoreRequest,
} from '@sluice/old-core';
import { evaluate, keySuffixOf, namePolicies, writeValue, type KeyState } from '@sluice/old-core/spi';
import { fakeClock, virtualRedisStore, type FakeClock } from '@sluice/testkit';
import type { ModelRules } from '../laws/models/model-escalation.ts';
import { ModelKey, decideByModel } from '../laws/models/model-key.ts';
import type { Receipt } from '../laws/models/model.ts';
import { modelled } from '../laws/models/verdict.ts';
import { START_MS, type Step } from './step.ts';

interface Key {
  readonly subject: string;
  limit: Limit;
  readonly state: KeyState;
  readonly model: ModelKey;
  /** What Redis holds, if the kernels are right. */
  value: string | null;
}

/** The charge of a step, for a refund: the records of kernel and model. */
interface Charged {
  readonly key: Key;
  readonly part: Part;
  readonly chargedUntilMs: readonly number[];
  readonly receipts: readonly Receipt[];
}

export interface PathsOptions {
  /** Named in failures. */
  readonly seed: number;
  /** Of each key. */
  readonly policies: readonly (readonly Policy[])[];
  readonly redis: Redis;
  readonly subject: string;
  /** Of each key: its escalation. Default: none. */
  readonly escalations?: readonly (ModelRules | undefined)[];
  /** Without models, policies may change while the trace runs. */
  readonly models?: boolean;
}

/**
 * The same requests on four paths: the kernels one request at a time, the BigInt models likewise, a memory store and a
 * real Redis in one call each. Every answer must be the same in all fields, and Redis must hold what the kernels
 * encode, byte by byte.
 */
export class Paths {
  readonly clock: FakeClock = fakeClock(START_MS);
  readonly keys: readonly Key[];
  /** Numbers of the steps that consumed units. */
  readonly taken: number[] = [];
  readonly #options: PathsOptions;
  readonly #memory: Store = memoryStore({ clock: this.clock });
  readonly #redisStore: Store;
  readonly #receipts = new Map<number, Charged>();
  #pending: Promise<void>[] = [];
  #steps = 0;
  #holders = 1;

  constructor(options: PathsOptions) {
    this.#options = options;
    this.#redisStore = virtualRedisStore(options.redis, this.clock, { prefix: 'sluice' }, 0);
    this.keys = options.policies.map((policies, i) => {
      const rules = options.escalations?.[i];
      const limit = limitOf(policies, i, rules);
      return {
        subject: `${options.subject}-${String(i)}`,
        limit,
        state: { blockedUntilMs: 0, states: policies.map(() => undefined) },
        model: new ModelKey(
          limit.policies.map(({ name }, j) => modelled(name, policies[j] as Policy)),
          rules,
        ),
        value: null,
      };
    });
  }

  /** The first policy of each key, at this instant. */
  lastSeen(): PolicyDecision[] {
    return this.keys.map((key) => {
      const { answer } = evaluate({ op: 'peek', parts: [this.#part(key, 1)] }, [key.state], this.clock.atMs);
      return answer.parts[0]?.policies[0] as PolicyDecision;
    });
  }

  /** The waits until denial counts are forgotten, for the keys that have one. */
  forgottenAfterMs(): number[] {
    return this.keys.flatMap(({ state: { denials } }) =>
      denials === undefined ? [] : [denials.forgottenAtMs - this.clock.atMs],
    );
  }

  /** Gives a key other numbers, as a new release of a service does. */
  changePolicies(key: Key, policies: readonly Policy[]): void {
    const number = this.keys.indexOf(key);
    key.limit = { ...limitOf(policies, number, this.#options.escalations?.[number]), keySuffix: key.limit.keySuffix };
  }

  /**
   * Performs steps in one call at one instant. The answers of the synchronous paths are compared at once, those of
   * Redis when {@link settle} is called.
   */
  perform(steps: readonly Step[], atMs: number): readonly StoreAnswer[] {
    this.clock.atMs = atMs;
    const requests = steps.map((step) => this.#requestOf(step));
    const byKernels = steps.map((step, i) => this.#throughKernels(step, requests[i] as StoreRequest, atMs));
    const fromMemory = this.#memory.perform(requests);
    this.#compare('the memory store', byKernels, fromMemory, steps);
    this.#pending.push(this.#throughRedis(requests, byKernels, steps));
    return byKernels;
  }

  async settle(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    await Promise.all(pending);
  }

  #requestOf(step: Step): StoreRequest {
    switch (step.op) {
      case 'consume':
      case 'peek':
        return {
          op: step.op,
          parts: step.parts.map(({ key, cost }) => this.#part(this.#key(key), cost, this.#holders++)),
        };
      case 'refund': {
        const { part, chargedUntilMs } = this.#receipts.get(step.of) as Charged;
        return { op: 'refund', part: { ...part, cost: Math.min(step.cost, part.cost) }, chargedUntilMs };
      }
      case 'charge': {
        const { part, chargedUntilMs } = this.#receipts.get(step.of) as Charged;
        return { op: 'charge', part: { ...part, cost: step.cost }, chargedUntilMs };
      }
      case 'refund key':
        return { op: 'refund', part: this.#part(this.#key(step.key), step.cost) };
      case 'charge key':
        return { op: 'charge', part: this.#part(this.#key(step.key), step.cost) };
      case 'block': {
        const { durationMs, reset } = step;
        return { op: 'block', part: this.#part(this.#key(step.key), 0), durationMs, reset };
      }
      case 'reset':
      case 'unblock':
        return { op: step.op, part: this.#part(this.#key(step.key), 0) };
    }
  }

  #throughKernels(step: Step, request: StoreRequest, atMs: number): StoreAnswer {
    const keys = this.#keysOf(step);
    const { answer, changed } = evaluate(
      request,
      keys.map(({ state }) => state),
      atMs,
    );
    const written = keys.filter(({ state }) => changed || state.touched === true);
    for (const key of written) key.value = writeValue(key.limit, key.state, atMs) || null;
    for (const key of keys) key.state.touched = false;
    const number = this.#steps++;
    const receipts = this.#throughModels(step, answer, atMs, number);
    for (const key of written) key.model.written(atMs);
    if (step.op === 'consume' && changed) this.#recordReceipt(number, request, answer, receipts);
    return answer;
  }

  #throughModels(step: Step, answer: StoreAnswer, atMs: number, number: number): readonly (readonly Receipt[])[] {
    if (this.#options.models === false) return [];
    switch (step.op) {
      case 'consume':
      case 'peek': {
        const parts = step.parts.map(({ key, cost }) => ({ key: this.#key(key).model, cost }));
        const { answers, receipts } = decideByModel(parts, atMs, step.op === 'consume');
        // The deciding policy after a peek follows from the model's consume.
        const shown = answer.parts.map(({ ifConsumed: _, ...part }) => part);
        if (!isDeepStrictEqual(answers, shown)) this.#fail('the model', answers, shown, step, number);
        return receipts;
      }
      case 'refund': {
        const { key, part, receipts } = this.#receipts.get(step.of) as Charged;
        key.model.refund(Math.min(step.cost, part.cost), receipts, atMs);
        return [];
      }
      case 'charge': {
        const { key, receipts } = this.#receipts.get(step.of) as Charged;
        key.model.overcharge(step.cost, receipts, atMs);
        return [];
      }
      case 'refund key':
        this.#key(step.key).model.refundNewest(step.cost, atMs);
        return [];
      case 'charge key':
        this.#key(step.key).model.chargeNow(step.cost, atMs);
        return [];
      case 'block':
        this.#key(step.key).model.blockedUntilMs = BigInt(atMs + step.durationMs);
        if (step.reset) this.#key(step.key).model.reset();
        return [];
      case 'unblock':
        this.#key(step.key).model.unblock();
        return [];
      case 'reset':
        this.#key(step.key).model.reset();
        return [];
    }
  }

  #recordReceipt(
    number: number,
    request: StoreRequest,
    answer: StoreAnswer,
    receipts: readonly (readonly Receipt[])[],
  ): void {
    const part = 'parts' in request ? (request.parts[0] as Part) : request.part;
    const key = this.keys.find(({ subject }) => subject === part.subject) as Key;
    const chargedUntilMs = (answer.parts[0]?.policies ?? []).map(({ resetAfterMs }) => answer.atMs + resetAfterMs);
    this.#receipts.set(number, { key, part, chargedUntilMs, receipts: receipts[0] ?? [] });
    this.taken.push(number);
  }

  async #throughRedis(
    requests: readonly StoreRequest[],
    expected: readonly StoreAnswer[],
    steps: readonly Step[],
  ): Promise<void> {
    const values = this.keys.map(({ value }) => value);
    // All sent in this tick, in order: the instant is read and the commands are written before anything else runs.
    const answers = this.#redisStore.perform(requests);
    const held = Promise.all(
      this.keys.map(({ subject, limit }) => this.#options.redis.get(`sluice:{${subject}}${limit.keySuffix}`)),
    );
    this.#compare('Redis', expected, await answers, steps);
    this.#compare('the value in Redis', values, await held, steps);
  }

  #compare(what: string, expected: unknown, got: unknown, steps: readonly Step[]): void {
    if (!isDeepStrictEqual(got, expected)) this.#fail(what, got, expected, steps, this.#steps - 1);
  }

  #fail(what: string, got: unknown, expected: unknown, step: unknown, number: number): never {
    const policies = this.keys.map(({ limit }) => limit.policies.map(({ policy }) => policy));
    throw new Error(
      `${what} differs from the kernels: SLUICE_SEED=${String(this.#options.seed)}, subject ${this.#options.subject}, step ${String(number)} ` +
        `${JSON.stringify(step)} at START + ${String(this.clock.atMs - START_MS)}\npolicies ${JSON.stringify(policies)}\n` +
        `got      ${JSON.stringify(got)}\nexpected ${JSON.stringify(expected)}`,
    );
  }

  #keysOf(step: Step): readonly Key[] {
    if ('parts' in step) return step.parts.map(({ key }) => this.#key(key));
    return ['of' in step ? (this.#receipts.get(step.of) as Charged).key : this.#key(step.key)];
  }

  #part({ limit, subject }: Key, cost: number, holder = 0): Part {
    return { limit, subject, cost, holder: String(holder) };
  }

  #key(number: number): Key {
    return this.keys[number] as Key;
  }
}

function limitOf(policies: readonly Policy[], number: number, rules: ModelRules | undefined): Limit {
  const named = namePolicies(
    policies.length === 1 ? policies[0] : policies.map((policy, i) => ({ ...policy, name: `p${String(i)}` })),
    'trace',
  );
  const escalation = rules === undefined ? {} : { escalation: escalate(rules) };
  return { policies: named, keySuffix: keySuffixOf(`trace${String(number)}`, named), ...escalation };
}
