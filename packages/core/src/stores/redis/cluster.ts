import { getMessage } from '../../errors.ts';
import { compile } from '../../policies/index.ts';
import { ALLOWED, GIVE, RESET_AFTER, USED } from '../../program/decide.ts';
import { warnOnce } from '../../warnings.ts';
import { OPS } from '../perform.ts';
import type { Answer, Ask, Figures, Op } from '../store.ts';

/** Performs a request on the keys of one node. */
export type Perform = (op: Op, asks: readonly Ask[]) => Promise<Answer>;

/** The asks of one subject, and their places in the request. */
interface Group {
  readonly asks: Ask[];
  readonly places: number[];
}

/** The part of a key that a cluster hashes. Keys with the same tag are on one node, and can be decided together. */
export function hashTag(key: string): string {
  return key.slice(key.indexOf('{') + 1, key.indexOf('}'));
}

/** Whether the keys of a request may be on several nodes. */
export function areOnNodes(asks: readonly Ask[]): boolean {
  return new Set(asks.map(({ key }) => hashTag(key))).size > 1;
}

function groupBySubject(asks: readonly Ask[]): readonly Group[] {
  const groups = new Map<string, Group>();
  asks.forEach((ask, place) => {
    const tag = hashTag(ask.key);
    const group = groups.get(tag) ?? { asks: [], places: [] };
    groups.set(tag, group);
    group.asks.push(ask);
    group.places.push(place);
  });
  return [...groups.values()];
}

export function isAllowed({ figures }: Answer): boolean {
  return figures.every((of) => of[ALLOWED] === 1);
}

/**
 * Edits each key separately, or decides over keys on several nodes, which no single script can do: peeks at all keys
 * first, and asks those that deny again, which starts their blocks. If all allow, takes from all; if one then denies
 * after all, the others are refunded. Never allows more than the limit, but units that a denied request gives back are
 * missing for a moment.
 */
export async function performOnNodes(op: Op, asks: readonly Ask[], perform: Perform): Promise<Answer> {
  const isEdit = OPS[op] >= GIVE;
  const groups = isEdit ? asks.map((ask, i): Group => ({ asks: [ask], places: [i] })) : groupBySubject(asks);
  const peeked = await Promise.all(groups.map((group) => perform(isEdit ? op : 'peek', group.asks)));
  if (isEdit || op === 'peek') return join(groups, peeked);
  const answers = [...peeked];
  const taken = new Set<number>();
  const failures: unknown[] = [];
  const take = async (group: Group, i: number): Promise<void> => {
    try {
      const answer = (answers[i] = await perform(op, group.asks));
      if (isAllowed(answer)) taken.add(i);
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all(groups.map(async (group, i) => isAllowed(peeked[i] as Answer) || take(group, i)));
  if (failures.length === 0 && answers.every(isAllowed)) {
    await Promise.all(groups.map(async (group, i) => taken.has(i) || take(group, i)));
  }
  if (taken.size === groups.length) return join(groups, answers);
  const given = Array.from(taken, async (i) => {
    await giveBack(groups[i] as Group, peeked[i] as Answer, answers[i] as Answer, perform);
    answers[i] = peeked[i] as Answer;
  });
  await Promise.all(given);
  if (failures.length > 0) throw failures[0] as Error;
  return join(groups, answers);
}

/** Gives back what was taken, except for slots that their holder had before. */
async function giveBack({ asks }: Group, before: Answer, after: Answer, perform: Perform): Promise<void> {
  const gifts = asks.flatMap((ask, i): Ask[] => {
    const figures = after.figures[i] as Figures;
    const hadIt = compile(ask.policy).holds && before.figures[i]?.[USED] === figures[USED];
    if (ask.cost === 0 || hadIt) return [];
    const until = after.atMs + (figures[RESET_AFTER] as number);
    return [{ ...ask, until, holder: (ask.holder ?? 0) > 0 ? ask.holder : after.atMs }];
  });
  await perform('give', gifts).catch((error: unknown) => {
    warnOnce(
      'SLUICE_REFUND_FAILED',
      `units that a denied request took on one node of the Redis Cluster could not be given back, so they count until they expire: ${getMessage(error)}`,
    );
  });
}

/**
 * Joins several answers into one, at the latest instant. When a key is as if never used depends on its own node's
 * clock.
 */
function join(groups: readonly Group[], answers: readonly Answer[]): Answer {
  const atMs = Math.max(...answers.map((answer) => answer.atMs));
  const figures: Figures[] = [];
  groups.forEach(({ places }, i) => {
    const own = answers[i] as Answer;
    places.forEach((place, j) => {
      const of = [...(own.figures[j] as Figures)];
      of[RESET_AFTER] = Math.max((of[RESET_AFTER] as number) - (atMs - own.atMs), 0);
      figures[place] = of;
    });
  });
  return { atMs, figures };
}
