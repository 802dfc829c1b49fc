import { asStoreError, isFault, staleError } from '../../../errors.ts';
import { countsDenials } from '../../../engine/policy.ts';
import {
  partsOf,
  settlementsOf,
  type DecidingRequest,
  type DecisionSettlement,
  type Nodes,
  type Part,
  type PartAnswer,
  type StoreAnswer,
  type StoreAnswers,
  type StoreCall,
  type StoreRequest,
} from '../../../engine/store.ts';
import { forkOf } from './forked-calls.ts';

/** The parts of one subject, and their positions in the request. */
interface Group {
  readonly parts: Part[];
  readonly positions: number[];
}

/** A node's answer to a group, and the policies without the request, where it has consumed. */
interface GroupAnswer extends StoreAnswer {
  readonly unconsumed?: readonly PartAnswer[];
}

/** Sends requests for one subject to its node. */
type Send = (requests: readonly StoreRequest[], call: StoreCall | undefined) => StoreAnswers | Promise<StoreAnswers>;

/**
 * Performs requests whose subjects live on different nodes: those of one subject together, others each by itself, and the
 * result of each holds even if others fail.
 */
export class SeveralNodes {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  async perform(requests: readonly StoreRequest[], call: StoreCall | undefined): Promise<StoreAnswers> {
    const [first, ...others] = requests;
    if (first === undefined) return [];
    const { subject } = partsOf(first)[0] as Part;
    if (requests.every((request) => partsOf(request).every((part) => part.subject === subject))) {
      return this.#send(requests, call);
    }
    if (others.length === 0) return [await this.#perform(first, call, () => call)];
    const fork = forkOf(call);
    return Promise.all(
      requests.map(async (request) => {
        try {
          return await this.#perform(request, call, fork);
        } catch (error) {
          return asStoreError(error);
        }
      }),
    );
  }

  async #perform(
    request: StoreRequest,
    call: StoreCall | undefined,
    fork: () => StoreCall | undefined,
  ): Promise<StoreAnswer | Error> {
    if ('parts' in request && request.parts.some(({ subject }) => subject !== request.parts[0]?.subject)) {
      return decideOnNodes(request, call?.nodes ?? this.#nodesOf(forkOf(fork())));
    }
    const [answer] = await this.#send([request], fork());
    return answer as StoreAnswer | Error;
  }

  /** For a call that brings no access of its own. */
  #nodesOf(fork: () => StoreCall | undefined): Nodes {
    return {
      ask: (requests) => this.#send(requests, fork()),
      refund: (requests) => this.#send(requests, undefined),
      inBackground: () => undefined, // it never rejects
      reportFailure: () => undefined, // of another node, whose own callers learn of it
    };
  }
}

/**
 * Decides over several subjects that live on different nodes of a cluster: peeks at all of them at once, one call each,
 * and consumes from all of them where none denies. When one denies all the same, because others have consumed meanwhile,
 * refunds what the others took. Never allows more than the limits. Until the refund, other requests may be denied
 * because of it; units that cannot be refunded (the node has failed) stay consumed until their window ends; and a window
 * that starts with its first unit has started. This is the one exception to the laws that a denial changes nothing and
 * that a request consumes all or nothing.
 */
async function decideOnNodes({ op, parts }: DecidingRequest, nodes: Nodes): Promise<StoreAnswer> {
  const attempt = new Attempt(bySubject(parts), nodes);
  await attempt.ask('peek', attempt.groups);
  if (op === 'consume') {
    // The node has to count a denial that leads to a block, and a peek counts none.
    await attempt.ask(
      'consume',
      attempt.groups.filter((group) => attempt.countsDenial(group)),
    );
    if (attempt.allows) await attempt.ask('consume', attempt.groups);
    attempt.settle();
  }
  return attempt.answer();
}

/** One request over several groups: what was asked, and the latest answers. */
class Attempt {
  readonly groups: readonly Group[];
  readonly #nodes: Nodes;
  readonly #answers = new Map<Group, GroupAnswer>();
  readonly #consumed = new Set<Group>();
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
      asked.map(async ({ parts }): Promise<GroupAnswer> => {
        // The peek says how the policies stand without the request, should its units be given back.
        const peek: DecidingRequest = { op: 'peek', parts };
        const answers = await this.#nodes.ask(op === 'peek' ? [peek] : [peek, { op, parts }]);
        const [unconsumed, answer = unconsumed] = answers;
        const failure = answers.find((one) => one instanceof Error);
        if (failure !== undefined || answer === undefined) throw failure ?? new RangeError('the store gave no answer');
        const isTaken = op === 'consume' && isAllowed(answer as StoreAnswer);
        return isTaken
          ? { ...(answer as StoreAnswer), unconsumed: (unconsumed as StoreAnswer).parts }
          : (answer as StoreAnswer);
      }),
    );
    outcomes.forEach((outcome, i) => {
      const group = asked[i] as Group;
      if (outcome.status === 'rejected') {
        this.#answers.delete(group);
        this.#failures.push(outcome.reason);
      } else {
        this.#answers.set(group, outcome.value);
        if (op === 'consume' && isAllowed(outcome.value)) this.#consumed.add(group);
      }
    });
  }

  /** Whether a peek has shown a denial that its node has to count. */
  countsDenial(group: Group): boolean {
    const answer = this.#answers.get(group);
    const isDenied = answer !== undefined && answer.stale === undefined && !isAllowed(answer);
    return isDenied && group.parts.some(({ limit }) => countsDenials(limit));
  }

  /** Refunds what was taken unless all groups have taken their units. */
  settle(): void {
    if (this.#consumed.size === this.groups.length) return;
    const refunds = [...this.#consumed].flatMap((group) =>
      returnsOf(group.parts, this.#answers.get(group) as GroupAnswer),
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
    const answers = this.groups.map((group) => this.#answers.get(group) as GroupAnswer);
    const isStale = answers.some(({ stale }) => stale !== undefined);
    return isStale ? allStale(this.groups, answers) : joined(this.groups, answers);
  }
}

/** The refunds of an answer, except for slots that their holder had before, and keeps. */
function returnsOf(parts: readonly Part[], answer: GroupAnswer): readonly DecisionSettlement[] {
  const requests = settlementsOf('refund', parts, answer);
  return requests.map((request) => {
    const index = parts.indexOf(request.part);
    const { policies } = answer.parts[index] as PartAnswer;
    const { policies: unconsumed } = answer.unconsumed?.[index] ?? { policies: [] };
    const chargedUntilMs = request.chargedUntilMs.map((untilMs, j) => {
      const isSlot = request.part.limit.policies[j]?.algorithm.renew !== undefined;
      const isAsBefore = policies[j]?.remaining === unconsumed[j]?.remaining;
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
function joined(groups: readonly Group[], answers: readonly GroupAnswer[]): StoreAnswer {
  const allowed = answers.every(isAllowed);
  const parts: PartAnswer[] = [];
  groups.forEach(({ positions }, i) => {
    const { atMs, parts: answered, unconsumed } = answers[i] as GroupAnswer;
    positions.forEach((position, j) => {
      const part = answered[j] as PartAnswer;
      const { policies } = (allowed ? undefined : unconsumed?.[j]) ?? part;
      parts[position] = { ...part, policies, atMs };
    });
  });
  return { atMs: Math.max(...answers.map(({ atMs }) => atMs)), parts };
}
