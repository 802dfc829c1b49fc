import { isDeepStrictEqual } from 'node:util';
import {
  DenialCache,
  Invalidations,
  isFastPathEligible,
  keySuffixOf,
  namePolicies,
  settlementsOf,
  type LocalClocks,
} from '@sluice/old-core/spi';
import type { Limit, Part, Policy, StoreAnswer, StoreRequest } from '@sluice/old-core';
import { seeded, type Random } from '@sluice/testkit';
import { START_MS } from '../../../../traces/step.ts';
import type { Server } from './servers.ts';

/** Says how a run goes, so that it can be printed and shortened. */
export interface Plan {
  readonly processes: number;
  /** Per limit its policies. */
  readonly limits: readonly (readonly Policy[])[];
  readonly steps: number;
  readonly seed: number;
  /** How far apart things happen, at most. */
  readonly gapMs: number;
  /** How long a message is on its way, at most. */
  readonly tripMs: number;
  /** For how long denials are remembered. */
  readonly ageMs: number;
  /** Whether machines are suspended. */
  readonly freezes: boolean;
}

/** What a run came to. */
export interface Outcome {
  /** DenialCount that no server was asked for. */
  deniedHere: number;
  /** What was wrong about them, in words. */
  readonly wrong: string[];
  /** How many of them were wrong because of what others did, no longer ago than may be. */
  excused: number;
}

interface Due {
  readonly atMs: number;
  readonly order: number;
  readonly act: () => Promise<void> | void;
}

interface Actor {
  readonly name: number;
  readonly cache: DenialCache;
  readonly invalidations: Invalidations;
  readonly clocks: LocalClocks;
  frozenMs: number;
  frozenUntilMs: number;
  /** Per key what it has heard last: when it had asked, and the server's instant. */
  readonly heard: Map<string, { readonly sentMs: number; readonly atMs: number }>;
}

const SUBJECTS = ['a', 'b'];

/**
 * Processes with clocks that drift, and machines that are suspended now and then, ask one server over a network that
 * takes its time. Whatever one of them denies by itself is compared with what the server would say in that very
 * millisecond.
 */
export class World {
  readonly outcome: Outcome = { deniedHere: 0, wrong: [], excused: 0 };
  readonly #random: Random;
  readonly #server: Server;
  readonly #plan: Plan;
  readonly #limits: readonly Limit[];
  readonly #actors: readonly Actor[];
  readonly #due: Due[] = [];
  /** What was allowed and may be given back. */
  readonly #allowed: { readonly parts: readonly Part[]; readonly answer: StoreAnswer }[] = [];
  /** Per key: when an actor made room, and which one. */
  readonly #raised = new Map<string, { readonly atMs: number; readonly by: number }[]>();
  /** Per key: when it changed last. */
  readonly #changed = new Map<string, number>();
  #order = 0;
  #nowMs = START_MS;

  constructor(plan: Plan, server: Server) {
    this.#plan = plan;
    this.#server = server;
    this.#random = seeded(plan.seed);
    this.#limits = plan.limits.map((policies, i) => {
      const named = namePolicies(
        policies.map((policy, j) => ({ ...policy, name: `p${String(j)}` })),
        `l${String(i)}`,
      );
      const limit = { policies: named, keySuffix: keySuffixOf(`l${String(i)}`, named), denialAgeMs: plan.ageMs };
      return { ...limit, fastPathEligible: isFastPathEligible(limit) };
    });
    this.#actors = Array.from({ length: plan.processes }, (_, name) => this.#actor(name));
  }

  async run(): Promise<Outcome> {
    let atMs = START_MS;
    for (let i = 0; i < this.#plan.steps; i++) {
      atMs += this.#random.percent(30) ? 0 : this.#spanMs(this.#plan.gapMs);
      const actor = this.#random.pick(this.#actors as readonly [Actor, ...Actor[]]);
      this.#at(atMs, () => this.#step(actor));
    }
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      await next.act();
    }
    return this.outcome;
  }

  #actor(name: number): Actor {
    // One oscillator, whose errors the system may correct in its date.
    const rate = 1 + this.#random.pick([-1000, this.#random.integer(-1000, 1000), 1000]) / 1e6;
    const dateRate = this.#random.percent(70) ? rate : 1 + this.#random.integer(-1000, 1000) / 1e6;
    const [startMs, behindMs] = [this.#random.integer(0, 1e6), this.#random.integer(-1e5, 1e5)];
    const clocks: LocalClocks = {
      monotonicMs: () => startMs + (this.#nowMs - actor.frozenMs - START_MS) * rate,
      dateMs: () => Math.floor(START_MS + behindMs + (this.#nowMs - START_MS) * dateRate),
    };
    const invalidations = new Invalidations(clocks);
    const cache = new DenialCache(50, invalidations, clocks);
    const actor: Actor = { name, cache, invalidations, clocks, frozenMs: 0, frozenUntilMs: 0, heard: new Map() };
    return actor;
  }

  #at(atMs: number, act: () => Promise<void> | void): void {
    this.#due.push({ atMs, order: this.#order++, act });
  }

  /** At this instant, or when the machine runs again. */
  #atActor(actor: Actor, atMs: number, act: () => Promise<void> | void): void {
    this.#at(atMs, () => {
      if (actor.frozenUntilMs > this.#nowMs) this.#at(actor.frozenUntilMs, act);
      else return act();
    });
  }

  #next(): Due | undefined {
    let first = 0;
    for (let i = 1; i < this.#due.length; i++) {
      const [one, other] = [this.#due[i], this.#due[first]] as const;
      if (one === undefined || other === undefined) continue;
      if (one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)) first = i;
    }
    return this.#due.splice(first, 1)[0];
  }

  /** Not whole milliseconds: servers floor them. */
  #spanMs(longestMs: number): number {
    return this.#random.integer(0, Math.round(longestMs * 1000)) / 1000;
  }

  #step(actor: Actor): Promise<void> | void {
    if (actor.frozenUntilMs > this.#nowMs) return;
    if (this.#plan.freezes && this.#random.percent(2)) {
      const ms = this.#spanMs(this.#random.pick([5, 300, 3000]));
      actor.frozenMs += ms;
      actor.frozenUntilMs = this.#nowMs + ms;
      return;
    }
    if (this.#random.percent(8)) {
      this.#edit(actor);
      return;
    }
    return this.#ask(actor);
  }

  #parts(): Part[] {
    const all = this.#limits.map((limit): Part => {
      const [capacity] = (limit.policies[0] as Limit['policies'][number]).algorithm.numbers(
        (limit.policies[0] as Limit['policies'][number]).policy,
      );
      const most = Math.max(capacity ?? 1, 1);
      const cost = this.#random.pick([1, 1, 1, 2, Math.ceil(most / 2), most, most + 1]);
      return { limit, subject: this.#random.pick(SUBJECTS as [string, ...string[]]), cost };
    });
    const [first] = all;
    if (first === undefined || (all.length > 1 && this.#random.percent(60))) return all;
    return [this.#random.percent(10) ? { ...first, cost: 0 } : first];
  }

  async #ask(actor: Actor, parts: readonly Part[] = this.#parts()): Promise<void> {
    const known = this.#denialOf(actor.cache, parts);
    if (known !== undefined) {
      this.outcome.deniedHere++;
      await this.#check(actor, parts, known);
      return;
    }
    const op = this.#random.percent(10) ? 'peek' : 'consume';
    this.#send(actor, { op, parts }, (answer, sent) => {
      if (isAllowed(answer)) {
        if (op === 'consume') this.#allowed.push({ parts, answer });
        return;
      }
      actor.cache.rememberAll(parts, answer, { ...sent, receivedMs: actor.clocks.monotonicMs() });
      for (const part of parts) {
        const sentMs = actor.heard.get(keyOf(part))?.sentMs ?? -Infinity;
        if (sent.sentMs >= sentMs) actor.heard.set(keyOf(part), { sentMs: sent.sentMs, atMs: answer.atMs });
      }
    });
  }

  /** The decision has to state what the answer does, also where it is made without one. */
  #denialOf(cache: DenialCache, parts: readonly Part[]): StoreAnswer | undefined {
    const answer = cache.answerTo(parts);
    const [first] = parts as [Part];
    const isOne = parts.length === 1;
    const decision = isOne ? cache.deny(first.limit, first.subject, first.cost) : cache.denyAll(parts);
    const made = decision && { atMs: decision.atMs, policies: decision.policies };
    const expected = answer && { atMs: answer.atMs, policies: answer.parts.flatMap(({ policies }) => policies) };
    const isBlocked = answer?.parts.some(({ blocked }) => blocked) === true;
    if (!isDeepStrictEqual(made, expected) || (decision?.outcome === 'blocked') !== isBlocked) {
      this.outcome.wrong.push('two ways differ');
    }
    return answer;
  }

  #edit(actor: Actor): void {
    const [part] = this.#parts() as [Part];
    const given = this.#allowed.splice(this.#random.integer(0, this.#allowed.length), 1)[0];
    const settling = given === undefined ? [] : settlementsOf('refund', given.parts, given.answer);
    const edits: readonly [StoreRequest, ...StoreRequest[]] = [
      { op: 'reset', part },
      { op: 'unblock', part },
      { op: 'block', part, durationMs: this.#random.pick([1, 40, 700, 5000]) },
      ...settling,
    ];
    const request = this.#random.pick(edits);
    const { subject } = (request as Extract<StoreRequest, { part: Part }>).part;
    actor.invalidations.sending(subject);
    this.#send(actor, request, () => {
      actor.invalidations.answered(subject);
    });
  }

  /** There, decided, and back. */
  #send(
    actor: Actor,
    request: StoreRequest,
    heard: (answer: StoreAnswer, sent: { readonly sentMs: number; readonly sentDateMs: number }) => void,
  ): void {
    const sent = { sentMs: actor.clocks.monotonicMs(), sentDateMs: actor.clocks.dateMs() };
    this.#at(this.#nowMs + this.#spanMs(this.#plan.tripMs), async () => {
      const answer = await this.#server.ask(request, Math.floor(this.#nowMs));
      const parts = 'parts' in request ? request.parts : [request.part];
      for (const part of parts) {
        const key = keyOf(part);
        if (request.op !== 'peek' && (request.op !== 'consume' || isAllowed(answer))) {
          this.#changed.set(key, this.#nowMs);
        }
        if (request.op === 'consume' || request.op === 'peek') continue;
        this.#raised.set(key, [...(this.#raised.get(key) ?? []), { atMs: this.#nowMs, by: actor.name }]);
      }
      this.#atActor(actor, this.#nowMs + this.#spanMs(this.#plan.tripMs), () => {
        heard(answer, sent);
      });
    });
  }

  async #check(actor: Actor, parts: readonly Part[], known: StoreAnswer): Promise<void> {
    const atMs = Math.floor(this.#nowMs);
    const truth = await this.#server.ask({ op: 'peek', parts }, atMs);
    const waits = truth.parts.flatMap(({ policies }) => policies.map(({ retryAfterMs }) => retryAfterMs ?? Infinity));
    const waitMs = Math.max(...waits);
    // Around the millisecond in which it is allowed there is most to be wrong about.
    if (waitMs > 0 && waitMs <= this.#plan.ageMs && this.#random.percent(30)) {
      this.#atActor(actor, atMs + waitMs + this.#spanMs(2), () => this.#ask(actor, parts));
    }
    const said = faultsOf(parts, known, truth, this.#isAsHeard(actor, parts), atMs);
    if (said.length === 0) return;
    const isExcused = parts.some((part) =>
      this.#raised
        .get(keyOf(part))
        ?.some(({ by, atMs: sinceMs }) => by !== actor.name && this.#nowMs - sinceMs <= this.#plan.ageMs * 1.0011),
    );
    if (isExcused) this.outcome.excused++;
    else this.outcome.wrong.push(...said.map((why) => `${why} at ${String(this.#nowMs)}`));
  }

  /** Whether nothing has changed since it heard of these keys. */
  #isAsHeard({ heard }: Actor, parts: readonly Part[]): boolean {
    return parts.every((part) => {
      const key = keyOf(part);
      return (this.#changed.get(key) ?? -Infinity) < (heard.get(key)?.atMs ?? -Infinity);
    });
  }
}

function keyOf({ subject, limit }: Part): string {
  return `${subject} ${limit.keySuffix}`;
}

function isAllowed({ parts }: StoreAnswer): boolean {
  return parts.every(({ blocked, policies }) => !blocked && policies.every(({ allowed }) => allowed));
}

/** What a denial says that is not so. */
function faultsOf(
  parts: readonly Part[],
  known: StoreAnswer,
  truth: StoreAnswer,
  isAsHeard: boolean,
  atMs: number,
): string[] {
  const faults: string[] = [];
  if (isAllowed(truth)) faults.push('denied what the store allows');
  if (known.atMs > atMs) faults.push('an instant that is not there yet');
  known.parts.forEach(({ blocked, policies }, i) => {
    const there = truth.parts[i];
    if (blocked && there?.blocked === false) faults.push('blocked what the store does not');
    policies.forEach((policy, j) => {
      const is = there?.policies[j];
      if (is === undefined) return;
      if (policy.limit !== is.limit || policy.windowMs !== is.windowMs) faults.push('another policy');
      if (policy.retryAfterMs === null && is.retryAfterMs !== null) faults.push('never, where it is some time');
      // Of a long state a reply tells no more than concerns the cost that was asked for.
      const isWhole = parts[i]?.limit.policies[j]?.algorithm.summarize === undefined;
      if (isWhole && policy.remaining < is.remaining) faults.push('less than is left');
      if (
        isAsHeard &&
        !policy.allowed &&
        policy.retryAfterMs !== null &&
        policy.retryAfterMs < (is.retryAfterMs ?? 0)
      ) {
        faults.push('a wait that is too short');
      }
    });
  });
  return faults;
}
