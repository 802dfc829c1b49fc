import type {
  DecidingRequest,
  Part,
  PartAnswer,
  Store,
  StoreAnswer,
  StoreAnswers,
  StoreCall,
  StoreRequest,
} from './store.ts';

type Ask = (requests: readonly StoreRequest[], call?: StoreCall) => StoreAnswers | Promise<StoreAnswers>;

/** The parts of one subject, and where they stand in the request. */
interface Share {
  readonly parts: Part[];
  readonly places: number[];
}

/** Whether a request concerns subjects that one call cannot decide over. */
export function liesApart({ oneSubjectPerCall }: Store, parts: readonly Part[]): boolean {
  return oneSubjectPerCall === true && parts.some(({ subject }) => subject !== parts[0]?.subject);
}

/**
 * Decides over several subjects that live on different nodes of a cluster: takes from all of them at once, one call
 * each, and when one refuses gives back what the others took. Never more than the limits is admitted. Until it is given
 * back, others may be refused for it, and what cannot be given back (its node has failed) stays taken until its window
 * is over: the one exception to the laws that a refusal changes nothing and that all or nothing is taken.
 *
 * @param inBackground - Given what goes on after the answer: giving back. It never rejects.
 */
export async function askAcross(
  { op, parts }: DecidingRequest,
  ask: Ask,
  inBackground: (work: Promise<unknown>) => void,
): Promise<StoreAnswers> {
  const shares = bySubject(parts);
  const outcomes = await Promise.allSettled(
    shares.map(async (share) => {
      const [answer] = await ask([{ op, parts: share.parts, tentative: true }]);
      if (answer instanceof Error || answer === undefined) throw answer ?? new RangeError('the store gave no answer');
      return answer;
    }),
  );
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  if (op === 'consume' && (failed !== undefined || !answers.every(isAdmitted))) {
    const taken = outcomes.flatMap((outcome, i) =>
      outcome.status === 'fulfilled' && isAdmitted(outcome.value)
        ? refundsOf((shares[i] as Share).parts, outcome.value)
        : [],
    );
    inBackground(Promise.allSettled(taken.map(async (request) => ask([request]))));
  }
  if (failed !== undefined) throw failed.reason as Error;
  return [joined(shares, answers)];
}

function bySubject(parts: readonly Part[]): readonly Share[] {
  const shares = new Map<string, Share>();
  parts.forEach((part, place) => {
    const share = shares.get(part.subject) ?? { parts: [], places: [] };
    shares.set(part.subject, share);
    share.parts.push(part);
    share.places.push(place);
  });
  return [...shares.values()];
}

function isAdmitted({ parts }: StoreAnswer): boolean {
  return parts.every(({ blocked, policies }) => !blocked && policies.every(({ allowed }) => allowed));
}

function refundsOf(parts: readonly Part[], { atMs, parts: answers }: StoreAnswer): readonly StoreRequest[] {
  return parts.flatMap((part, i): readonly StoreRequest[] => {
    if (part.cost === 0) return [];
    const chargedUntilMs = (answers[i]?.policies ?? []).map(({ resetAfterMs }) => atMs + resetAfterMs);
    return [{ op: 'refund', part, chargedUntilMs }];
  });
}

/** One answer of several, each by the clock of its own node. What was given back is shown as it stands without it. */
function joined(shares: readonly Share[], answers: readonly StoreAnswer[]): StoreAnswer {
  const admitted = answers.every(isAdmitted);
  const parts: PartAnswer[] = [];
  shares.forEach(({ places }, i) => {
    const { atMs, parts: answered } = answers[i] as StoreAnswer;
    places.forEach((place, j) => {
      const { ifNotTaken, ...part } = answered[j] as PartAnswer;
      parts[place] = { ...part, policies: admitted ? part.policies : (ifNotTaken ?? part.policies), atMs };
    });
  });
  return { atMs: Math.max(...answers.map(({ atMs }) => atMs)), parts };
}
