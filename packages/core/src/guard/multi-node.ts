import { isFault, staleError } from '../errors.ts';
import { countsDenials } from '../engine/policy.ts';
import {
  settlementsOf,
  type DecidingRequest,
  type Part,
  type PartAnswer,
  type DecisionSettlement,
  type Store,
  type StoreAnswer,
  type StoreAnswers,
  type StoreRequest,
} from '../engine/store.ts';
import type { RecentDenials } from './recent-denials.ts';

/** The parts of one subject, and their positions in the request. */
interface Group {
  readonly parts: Part[];
  readonly positions: number[];
}

/** Access to the nodes, one subject a call. */
export interface Nodes {
  /** The keys that have denied lately. */
  readonly denials: RecentDenials;
  /** Asks within the deadline of the decision. */
  ask(requests: readonly StoreRequest[]): StoreAnswers | Promise<StoreAnswers>;
  /** Refunds, in a time of its own. */
  refund(requests: readonly StoreRequest[]): StoreAnswers | Promise<StoreAnswers>;
  /** Receives work that continues after the answer, such as refunds. It never rejects. */
  inBackground(work: Promise<unknown>): void;
  /** Receives failures that the caller does not get: of another node, or of a refund. */
  reportFailure(error: unknown): void;
}

/** Whether a request has subjects that one call cannot decide over. */
export function spansNodes({ oneSubjectPerCall }: Store, parts: readonly Part[]): boolean {
  return oneSubjectPerCall === true && parts.some(({ subject }) => subject !== parts[0]?.subject);
}

/**
 * Decides over several subjects that live on different nodes of a cluster: consumes from all of them at once, one
 * call each, and when one denies refunds what the others took. Never allows more than the limits. Until the refund,
 * other requests may be denied because of it; units that cannot be refunded (the node has failed) stay consumed
 * until their window ends; and a window that starts with its first unit has started. This is the one exception to
 * the laws that a denial changes nothing and that a request consumes all or nothing.
 *
 * Keys that have denied lately are asked first, so that their denials take nothing elsewhere.
 */
export async function consumeAcrossNodes({ op, parts }: DecidingRequest, nodes: Nodes): Promise<StoreAnswers> {
  const attempt = new Attempt(bySubject(parts), nodes);
  const { groups } = attempt;
  const suspects = op === 'peek' ? [] : groups.filter((group) => group.parts.some((part) => nodes.denials.has(part)));
  if (suspects.length === 0) await attempt.ask(op, groups);
  else await consumeSuspectsFirst(attempt, suspects);
  if (op === 'consume') attempt.settle();
  return [attempt.answer()];
}

/**
 * Takes nothing while any subject is seen to deny. A single suspect decides while the others are peeked at: one more
 * round trip for a request that is allowed. Several suspects are peeked at too, and then decide one after another,
 * the one with the fewest units left first, because it is the most likely to deny.
 */
async function consumeSuspectsFirst(attempt: Attempt, suspects: readonly Group[]): Promise<void> {
  const others = attempt.groups.filter((group) => !suspects.includes(group));
  const [only] = suspects.length === 1 ? suspects : [];
  if (only === undefined) await attempt.ask('peek', attempt.groups);
  else await Promise.all([attempt.ask('consume', [only]), attempt.ask('peek', others)]);
  // The node has to count a denial that leads to a block, and a peek counts none.
  if (!attempt.allows)
    await attempt.ask(
      'consume',
      attempt.groups.filter((group) => attempt.isUncounted(group)),
    );
  const inOrder = only === undefined ? suspects.toSorted((a, b) => attempt.roomOf(a) - attempt.roomOf(b)) : [];
  for (const suspect of inOrder) if (attempt.allows) await attempt.ask('consume', [suspect]);
  if (attempt.allows && others.length > 0) await attempt.ask('consume', others);
}

/** One request over several groups: what was asked, and the latest answers. */
class Attempt {
  readonly groups: readonly Group[];
  readonly #nodes: Nodes;
  readonly #answers = new Map<Group, StoreAnswer>();
  readonly #consumed = new Set<Group>();
  /** The groups whose latest answer is that of a peek. */
  readonly #peeked = new Set<Group>();
  readonly #failures: unknown[] = [];

  constructor(groups: readonly Group[], nodes: Nodes) {
    this.groups = groups;
    this.#nodes = nodes;
  }

  /** Whether no answer so far denies, and no node has failed. */
  get allows(): boolean {
    return this.#failures.length === 0 && [...this.#answers.values()].every(isAllowed);
  }

  /** Asks for some groups at once, except for those that have taken their units. */
  async ask(op: DecidingRequest['op'], groups: readonly Group[]): Promise<void> {
    const asked = groups.filter((group) => !this.#consumed.has(group));
    const outcomes = await Promise.allSettled(
      asked.map(async ({ parts }) => {
        const [answer] = await this.#nodes.ask([{ op, parts, provisional: true }]);
        if (answer instanceof Error || answer === undefined) throw answer ?? new RangeError('the store gave no answer');
        return answer;
      }),
    );
    outcomes.forEach((outcome, i) => {
      const group = asked[i] as Group;
      if (op === 'peek') this.#peeked.add(group);
      else this.#peeked.delete(group);
      if (outcome.status === 'rejected') {
        this.#answers.delete(group);
        this.#failures.push(outcome.reason);
      } else {
        this.#answers.set(group, outcome.value);
        if (op === 'consume' && isAllowed(outcome.value)) this.#consumed.add(group);
      }
    });
  }

  /** Whether a peek has shown a denial that has to be counted, and is not counted yet. */
  isUncounted(group: Group): boolean {
    const answer = this.#answers.get(group);
    const isDenied = answer !== undefined && answer.stale === undefined && !isAllowed(answer);
    return isDenied && this.#peeked.has(group) && group.parts.some(({ limit }) => countsDenials(limit));
  }

  /** How often a group can take its cost, by its answer. */
  roomOf(group: Group): number {
    const { parts = [] } = this.#answers.get(group) ?? {};
    return Math.min(
      ...parts.flatMap(({ policies }, i) => {
        const { cost } = group.parts[i] as Part;
        return policies.map(({ remaining }) => (cost === 0 ? Infinity : remaining / cost));
      }),
    );
  }

  /** Remembers the keys that denied, and refunds what was taken unless all groups have taken their units. */
  settle(): void {
    for (const [group, answer] of this.#answers) {
      if (answer.stale === undefined && !isAllowed(answer)) {
        group.parts.forEach((part, i) => {
          if (!allows(answer.parts[i])) this.#nodes.denials.add(part);
        });
      }
    }
    if (this.#consumed.size === this.groups.length) return;
    const refunds = [...this.#consumed].flatMap((group) =>
      returnsOf(group.parts, this.#answers.get(group) as StoreAnswer),
    );
    if (refunds.length === 0) return;
    this.#nodes.inBackground(Promise.all(refunds.map(async (request) => giveBack(request, this.#nodes))));
  }

  /** @throws the failure of a node: a fault first. The others are reported. */
  answer(): StoreAnswer {
    if (this.#failures.length > 0) {
      const thrown = this.#failures.find(isFault) ?? this.#failures[0];
      for (const other of this.#failures) if (other !== thrown) this.#nodes.reportFailure(other);
      throw thrown as Error;
    }
    const answers = this.groups.map((group) => this.#answers.get(group) as StoreAnswer);
    const isStale = answers.some(({ stale }) => stale !== undefined);
    return isStale ? allStale(this.groups, answers) : joined(this.groups, answers);
  }
}

/** The refunds of an answer, except for slots that their holder had before, and keeps. */
function returnsOf(parts: readonly Part[], answer: StoreAnswer): readonly DecisionSettlement[] {
  const requests = settlementsOf('refund', parts, answer);
  return requests.map((request) => {
    const { policies, ifNotConsumed } = answer.parts[parts.indexOf(request.part)] as PartAnswer;
    const chargedUntilMs = request.chargedUntilMs.map((untilMs, j) => {
      const isSlot = request.part.limit.policies[j]?.algorithm.renew !== undefined;
      const isAsBefore = policies[j]?.remaining === ifNotConsumed?.[j]?.remaining;
      return isSlot && isAsBefore ? 0 : untilMs;
    });
    return { ...request, chargedUntilMs };
  });
}

/** The answer where no decision was made. Consumed units are refunded. */
function allStale(groups: readonly Group[], answers: readonly StoreAnswer[]): StoreAnswer {
  const stale: (number | undefined)[] = [];
  groups.forEach(({ positions }, i) => {
    positions.forEach((position, j) => (stale[position] = answers[i]?.stale?.[j]));
  });
  return { atMs: Math.max(...answers.map(({ atMs }) => atMs)), parts: [], stale };
}

async function giveBack(request: StoreRequest, nodes: Nodes): Promise<void> {
  try {
    const [answer] = await nodes.refund([request]);
    if (answer instanceof Error) nodes.reportFailure(answer);
    else if (answer?.stale !== undefined) nodes.reportFailure(staleError()); // the policy has changed meanwhile: the units stay consumed
  } catch (error) {
    nodes.reportFailure(error);
  }
}

function bySubject(parts: readonly Part[]): readonly Group[] {
  const groups = new Map<string, Group>();
  parts.forEach((part, position) => {
    const group = groups.get(part.subject) ?? { parts: [], positions: [] };
    groups.set(part.subject, group);
    group.parts.push(part);
    group.positions.push(position);
  });
  return [...groups.values()];
}

function isAllowed(answer: StoreAnswer): boolean {
  return answer.stale === undefined && answer.parts.every(allows);
}

function allows(part: PartAnswer | undefined): boolean {
  return part?.blocked === false && part.policies.every(({ allowed }) => allowed);
}

/**
 * One answer from several, each by the clock of its node. Refunded policies are stated as they are without the
 * request.
 */
function joined(groups: readonly Group[], answers: readonly StoreAnswer[]): StoreAnswer {
  const allowed = answers.every(isAllowed);
  const parts: PartAnswer[] = [];
  groups.forEach(({ positions }, i) => {
    const { atMs, parts: answered } = answers[i] as StoreAnswer;
    positions.forEach((position, j) => {
      const { ifNotConsumed, ...part } = answered[j] as PartAnswer;
      parts[position] = { ...part, policies: allowed ? part.policies : (ifNotConsumed ?? part.policies), atMs };
    });
  });
  return { atMs: Math.max(...answers.map(({ atMs }) => atMs)), parts };
}
