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
} from './store.ts';

/** The parts of one subject, and where they stand in the request. */
interface Group {
  readonly parts: Part[];
  readonly places: number[];
}

/** How nodes are asked, one subject a call, and who hears of what else there is. */
export interface Nodes {
  ask(requests: readonly StoreRequest[]): StoreAnswers | Promise<StoreAnswers>;
  /** Given what goes on after the answer: giving back. It never rejects. */
  inBackground(work: Promise<unknown>): void;
  /** Told of a failure that nobody else hears of: another node's, or of giving back. */
  noteFailure(error: unknown): void;
}

/** Whether a request concerns subjects that one call cannot decide over. */
export function liesApart({ oneSubjectPerCall }: Store, parts: readonly Part[]): boolean {
  return oneSubjectPerCall === true && parts.some(({ subject }) => subject !== parts[0]?.subject);
}

/**
 * Decides over several subjects that live on different nodes of a cluster: takes from all of them at once, one call
 * each, and when one refuses gives back what the others took. Never more than the limits is admitted. Until it is given
 * back, others may be refused for it; what cannot be given back (its node has failed) stays taken until its window is
 * over; and a window that begins with its first unit has begun. This is the one exception to the laws that a refusal
 * changes nothing and that all or nothing is taken.
 */
export async function askAcross({ op, parts }: DecidingRequest, nodes: Nodes): Promise<StoreAnswers> {
  const groups = bySubject(parts);
  const outcomes = await Promise.allSettled(
    groups.map(async (group) => {
      const [answer] = await nodes.ask([{ op, parts: group.parts, tentative: true }]);
      if (answer instanceof Error || answer === undefined) throw answer ?? new RangeError('the store gave no answer');
      return answer;
    }),
  );
  const answers = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  if (op === 'consume' && !answers.every(isAdmitted)) {
    const taken = answers.flatMap((answer, i) =>
      isAdmitted(answer) ? returnsOf((groups[i] as Group).parts, answer) : [],
    );
    if (taken.length > 0) nodes.inBackground(Promise.all(taken.map(async (request) => giveBack(request, nodes))));
  }
  if (!answers.every((answer) => answer !== undefined)) {
    const told = failures.find(isFault) ?? failures[0];
    for (const other of failures) if (other !== told) nodes.noteFailure(other);
    throw told as Error;
  }
  return [answers.some(({ stale }) => stale !== undefined) ? allStale(groups, answers) : joined(groups, answers)];
}

/** What gives back what an answer took: but for slots whose holder had them before, and goes on holding them. */
function returnsOf(parts: readonly Part[], answer: StoreAnswer): readonly SettlingRequest[] {
  const requests = settlementsOf('refund', parts, answer);
  return requests.map((request) => {
    const { policies, ifNotTaken } = answer.parts[parts.indexOf(request.part)] as PartAnswer;
    const chargedUntilMs = request.chargedUntilMs.map((untilMs, j) => {
      const isSlot = request.part.limit.policies[j]?.algorithm.renew !== undefined;
      const isAsBefore = policies[j]?.remaining === ifNotTaken?.[j]?.remaining;
      return isSlot && isAsBefore ? 0 : untilMs;
    });
    return { ...request, chargedUntilMs };
  });
}

/** Nothing was decided: what was taken is given back. */
function allStale(groups: readonly Group[], answers: readonly StoreAnswer[]): StoreAnswer {
  const stale: (number | undefined)[] = [];
  groups.forEach(({ places }, i) => {
    places.forEach((place, j) => (stale[place] = answers[i]?.stale?.[j]));
  });
  return { atMs: Math.max(...answers.map(({ atMs }) => atMs)), parts: [], stale };
}

async function giveBack(request: StoreRequest, nodes: Nodes): Promise<void> {
  try {
    const [answer] = await nodes.ask([request]);
    if (answer instanceof Error) nodes.noteFailure(answer);
    else if (answer?.stale !== undefined) nodes.noteFailure(staleError()); // a change came between: they stay taken
  } catch (error) {
    nodes.noteFailure(error);
  }
}

function bySubject(parts: readonly Part[]): readonly Group[] {
  const groups = new Map<string, Group>();
  parts.forEach((part, place) => {
    const group = groups.get(part.subject) ?? { parts: [], places: [] };
    groups.set(part.subject, group);
    group.parts.push(part);
    group.places.push(place);
  });
  return [...groups.values()];
}

function isAdmitted(answer: StoreAnswer | undefined): answer is StoreAnswer {
  if (answer?.stale !== undefined) return false;
  return answer?.parts.every(({ blocked, policies }) => !blocked && policies.every(({ allowed }) => allowed)) === true;
}

/** One answer of several, each by the clock of its own node. What was given back is shown as it stands without it. */
function joined(groups: readonly Group[], answers: readonly StoreAnswer[]): StoreAnswer {
  const admitted = answers.every(isAdmitted);
  const parts: PartAnswer[] = [];
  groups.forEach(({ places }, i) => {
    const { atMs, parts: answered } = answers[i] as StoreAnswer;
    places.forEach((place, j) => {
      const { ifNotTaken, ...part } = answered[j] as PartAnswer;
      parts[place] = { ...part, policies: admitted ? part.policies : (ifNotTaken ?? part.policies), atMs };
    });
  });
  return { atMs: Math.max(...answers.map(({ atMs }) => atMs)), parts };
}
