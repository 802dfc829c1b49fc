import { isFault, staleError } from '../errors.ts';
import {
  settlementsOf,
  type DecidingRequest,
  type Part,
  type PartAnswer,
  type SettlingRequest,
  type Store,
  type StoreAnswer,
  type StoreAnswers,
  type StoreRequest,
} from '../engine/store.ts';

/** The parts of one subject, and their positions in the request. */
interface Group {
  readonly parts: Part[];
  readonly positions: number[];
}

/** Access to the nodes, one subject a call. */
export interface Nodes {
  ask(requests: readonly StoreRequest[]): StoreAnswers | Promise<StoreAnswers>;
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
 */
export async function consumeAcrossNodes({ op, parts }: DecidingRequest, nodes: Nodes): Promise<StoreAnswers> {
  const groups = bySubject(parts);
  const outcomes = await Promise.allSettled(
    groups.map(async (group) => {
      const [answer] = await nodes.ask([{ op, parts: group.parts, provisional: true }]);
      if (answer instanceof Error || answer === undefined) throw answer ?? new RangeError('the store gave no answer');
      return answer;
    }),
  );
  const answers = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  if (op === 'consume' && !answers.every(isAllowed)) {
    const refunds = answers.flatMap((answer, i) =>
      isAllowed(answer) ? returnsOf((groups[i] as Group).parts, answer) : [],
    );
    if (refunds.length > 0) nodes.inBackground(Promise.all(refunds.map(async (request) => giveBack(request, nodes))));
  }
  if (!answers.every((answer) => answer !== undefined)) {
    const reported = failures.find(isFault) ?? failures[0];
    for (const other of failures) if (other !== reported) nodes.reportFailure(other);
    throw reported as Error;
  }
  return [answers.some(({ stale }) => stale !== undefined) ? allStale(groups, answers) : joined(groups, answers)];
}

/** The refunds of an answer, except for slots that their holder had before, and keeps. */
function returnsOf(parts: readonly Part[], answer: StoreAnswer): readonly SettlingRequest[] {
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

/** The answer where no decision was made. What was consumed is refunded. */
function allStale(groups: readonly Group[], answers: readonly StoreAnswer[]): StoreAnswer {
  const stale: (number | undefined)[] = [];
  groups.forEach(({ positions }, i) => {
    positions.forEach((position, j) => (stale[position] = answers[i]?.stale?.[j]));
  });
  return { atMs: Math.max(...answers.map(({ atMs }) => atMs)), parts: [], stale };
}

async function giveBack(request: StoreRequest, nodes: Nodes): Promise<void> {
  try {
    const [answer] = await nodes.ask([request]);
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

function isAllowed(answer: StoreAnswer | undefined): answer is StoreAnswer {
  if (answer?.stale !== undefined) return false;
  return answer?.parts.every(({ blocked, policies }) => !blocked && policies.every(({ allowed }) => allowed)) === true;
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
