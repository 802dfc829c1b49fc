import type { Call, Reply } from './history.ts';
import { explained, refunded, later, consumed, type States } from './reply.ts';
import type { Rule } from './rules.ts';

/** A consume or a peek that was answered, at a known instant. */
export interface Decided extends Call {
  readonly reply: Reply;
}

/** A call that was carried out at an unknown instant of the server. */
export interface Floating {
  readonly call: Call;
  /** Whether it was carried out. If not, it may have been. */
  readonly certain: boolean;
  /** Whether later calls of its process are behind it: they went over one connection. */
  readonly inOrder: boolean;
  /** The first and the last instant at which that can have happened. */
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Explanation {
  /** Calls that were explained. */
  readonly explained: number;
  /** Calls that were not checked, because those before them have too many explanations. */
  readonly undecided: number;
  /** The first call that no order explains, and the possible states of the key before it. */
  readonly unexplained?: { readonly call: Call; readonly states: readonly States[] };
}

/** One possible course of events so far. */
interface Course {
  readonly states: States;
  /** Which of the floating calls that still matter have been carried out. */
  readonly done: ReadonlySet<Floating>;
}

/** The most steps from one decision to the next: less than a second. */
const MOST_STEPS = 100_000;

/**
 * Searches for an order of the calls of one key, from its first use to where its state was lost, that explains every
 * answer. An order is one in which
 *
 * - a call that ended before another was invoked comes before it;
 * - decisions come at their instants, which never go back; all others at any instant between those of their neighbours;
 * - a call that was answered is carried out once; an unknown one once or never; and if a later call of the same
 *   process, invoked after the unknown one had failed, is answered, not after that one where both went over one
 *   connection.
 *
 * It follows all orders at once, as the set of states they lead to; first those in which floating calls are carried
 * out at likely instants, and all if these explain nothing.
 */
export function explain(
  rules: readonly Rule[],
  decided: readonly Decided[],
  floating: readonly Floating[],
  isStopped: (atMs: number) => boolean = () => false,
): Explanation {
  const found = new Search(rules, decided, floating, isStopped, true).run();
  // Not all courses were followed. Only a full search proves that no order explains a call.
  return found.unexplained === undefined && found.undecided === 0
    ? found
    : new Search(rules, decided, floating, isStopped, false).run();
}

class Search {
  readonly #rules: readonly Rule[];
  readonly #isStopped: (atMs: number) => boolean;
  readonly #onlyLikely: boolean;
  /** Those decided at one instant together, instant by instant. */
  readonly #groups: readonly (readonly Decided[])[];
  /** Per group, when the first of its calls and of all later ones had ended. */
  readonly #firstEndMs: readonly number[];
  /** Calls that may still run: of one process, the one with the earliest deadline first. */
  #floating: readonly Floating[];
  #courses = new Map<string, Course>();
  readonly #numberOf = new Map<Floating, number>();
  /** Since the last decision, and whether they exceed the limit. */
  #steps = 0;
  #gaveUp = false;

  constructor(
    rules: readonly Rule[],
    decided: readonly Decided[],
    floating: readonly Floating[],
    isStopped: (atMs: number) => boolean,
    onlyLikely: boolean,
  ) {
    this.#rules = rules;
    this.#isStopped = isStopped;
    this.#onlyLikely = onlyLikely;
    this.#groups = groupsOf(decided);
    const ends = this.#groups.map((group) => Math.min(...group.map(({ endedMs }) => endedMs)));
    for (let i = ends.length - 2; i >= 0; i--) ends[i] = Math.min(ends[i] as number, ends[i + 1] as number);
    this.#firstEndMs = ends;
    this.#floating = [...floating].sort((a, b) => (a.call.endedMs < b.call.endedMs ? -1 : 1));
    for (const one of floating) this.#numberOf.set(one, this.#numberOf.size);
    this.#add(this.#courses, { states: rules.map(() => []), done: new Set() });
  }

  run(): Explanation {
    let count = 0;
    let fromMs = Math.min(...this.#floating.map((one) => one.fromMs), this.#groups[0]?.[0]?.reply.atMs ?? 0);
    for (const [at, group] of this.#groups.entries()) {
      const atMs = group[0]?.reply.atMs as number;
      const before = this.#courses;
      for (const ms of this.#instants(fromMs, atMs, group)) {
        // Between decisions only floating calls can run.
        if (ms < atMs && (this.#isStopped(ms) || !this.#someMayRun(this.#firstEndMs[at] as number, ms))) continue;
        this.#courses = this.#moved(this.#courses, ms);
        if (!this.#gaveUp) this.#float(this.#courses, this.#firstEndMs[at] as number, ms);
        if (this.#gaveUp) return { explained: count, undecided: this.#left(at) };
      }
      const { courses, unexplained } = this.#decide(at, group, atMs);
      if (this.#gaveUp) return { explained: count, undecided: this.#left(at) };
      if (unexplained !== undefined) {
        const states = [...this.#moved(before, atMs).values()].map((course) => course.states);
        return { explained: count, undecided: 0, unexplained: { call: unexplained, states } };
      }
      count += group.length;
      this.#courses = this.#forgotten(courses, atMs);
      fromMs = atMs;
      this.#steps = 0;
    }
    return { explained: count, undecided: 0 };
  }

  /** The instants at which floating calls run, up to that of the next decisions, in order. */
  #instants(fromMs: number, toMs: number, group: readonly Decided[]): readonly number[] {
    const all = Array.from({ length: toMs - fromMs + 1 }, (_, i) => fromMs + i);
    if (!this.#onlyLikely || all.length < 4) return all;
    const starts = this.#floating.flatMap((one) => [one.fromMs, one.untilMs]);
    const likely = this.#rules.flatMap((rule, i) => {
      const reported = group.flatMap(({ reply }) => reply.policies[i] ?? []);
      return rule.likely(fromMs, toMs, reported);
    });
    const some = new Set([fromMs, toMs - 1, toMs, ...starts, ...likely]);
    return all.filter((ms) => some.has(ms) || this.#isStopped(ms - 1));
  }

  /** All possible orders of the calls of one instant. */
  #decide(
    at: number,
    group: readonly Decided[],
    atMs: number,
  ): { courses: Map<string, Course>; unexplained?: Decided | undefined } {
    // Per set of calls that are still to come, the courses that led there.
    let open = new Map<string, { left: readonly Decided[]; courses: Map<string, Course> }>();
    open.set('', { left: group, courses: this.#courses });
    let furthest: readonly Decided[] = group;
    for (let consumed = 0; consumed < group.length; consumed++) {
      const next: typeof open = new Map();
      for (const { left, courses } of open.values()) {
        const firstEndMs = Math.min(this.#firstEndMs[at + 1] ?? Infinity, ...left.map(({ endedMs }) => endedMs));
        const decidedBefore = group.filter((call) => !left.includes(call));
        if (decidedBefore.length > 0) this.#float(courses, firstEndMs, atMs, decidedBefore);
        for (const course of courses.values()) {
          for (const [call, after] of this.#nextOf(course, left)) {
            const rest = left.filter((other) => other !== call);
            const key = rest.map((other) => group.indexOf(other)).join();
            const reachable = next.get(key) ?? { left: rest, courses: new Map<string, Course>() };
            next.set(key, reachable);
            this.#add(reachable.courses, after);
            furthest = rest;
          }
        }
      }
      if (next.size === 0) return { courses: new Map(), unexplained: furthest[0] };
      open = next;
    }
    return { courses: open.get('')?.courses ?? new Map<string, Course>() };
  }

  /** Which of these calls may come next in a course, and where it leads. */
  #nextOf(course: Course, left: readonly Decided[]): readonly (readonly [Decided, Course])[] {
    const found: [Decided, Course][] = [];
    for (const call of left) {
      if (left.some((other) => other.endedMs < call.invokedMs)) continue;
      if (this.#floating.some((one) => isDueBefore(one, call) && !course.done.has(one))) continue;
      const states = explained(this.#rules, course.states, call, call.reply);
      if (states === undefined) continue;
      const next: [Decided, Course] = [call, { states, done: course.done }];
      // It changes nothing, so it need not come later, unless that settles the end of an unknown call.
      const settles = this.#floating.some((one) => isBehind(one, call) && !course.done.has(one));
      if (states === course.states && !settles) return [next];
      found.push(next);
    }
    return found;
  }

  /**
   * Adds the courses in which floating calls are carried out now.
   *
   * @param decidedBefore - Decisions of this instant that have been.
   */
  #float(courses: Map<string, Course>, firstEndMs: number, atMs: number, decidedBefore: readonly Decided[] = []): void {
    const able = this.#floating.filter(
      (one) => mayRun(one, firstEndMs, atMs) && !decidedBefore.some((call) => isBehind(one, call)),
    );
    if (able.length === 0) return;
    const queue = [...courses.values()];
    for (let course = queue.pop(); course !== undefined; course = queue.pop()) {
      const { states, done } = course;
      const tried = new Set<string>();
      for (const one of able) {
        if (done.has(one)) continue;
        if (able.some((other) => isDueBefore(other, one.call) && !done.has(other))) continue;
        const { op, cost, process } = one.call;
        if (op === 'consume') {
          // Of calls of one process with one cost, the one with the earliest deadline.
          const alike = `${one.inOrder ? String(process) : 'any'} ${String(cost)}`;
          if (tried.has(alike)) continue;
          tried.add(alike);
        }
        const after = this.#carriedOut(one, states, atMs);
        if (after === undefined && !one.certain) continue; // no different from never
        const next = { states: after ?? states, done: new Set(done).add(one) };
        if (this.#add(courses, next)) queue.push(next);
        if (this.#gaveUp) return;
      }
    }
  }

  #carriedOut({ call }: Floating, states: States, atMs: number): States | undefined {
    switch (call.op) {
      case 'consume':
        return consumed(this.#rules, states, call.cost, atMs);
      case 'refund':
        return refunded(this.#rules, states, call.cost, call.charge as Reply, atMs);
      case 'reset':
        return this.#rules.map(() => []);
      case 'peek':
        return undefined;
    }
  }

  #someMayRun(firstEndMs: number, atMs: number): boolean {
    return this.#floating.some(
      (one) => mayRun(one, firstEndMs, atMs) && [...this.#courses.values()].some(({ done }) => !done.has(one)),
    );
  }

  #moved(courses: ReadonlyMap<string, Course>, atMs: number): Map<string, Course> {
    const moved = new Map<string, Course>();
    for (const { states, done } of courses.values()) {
      this.#add(moved, { states: later(this.#rules, states, atMs), done });
    }
    return moved;
  }

  /**
   * Forgets the floating calls that do not matter any more: those that can not run later, and those that ran in every
   * course.
   */
  #forgotten(courses: ReadonlyMap<string, Course>, atMs: number): Map<string, Course> {
    const matters = this.#floating.filter(
      (one) => (one.certain || one.untilMs >= atMs) && ![...courses.values()].every(({ done }) => done.has(one)),
    );
    if (matters.length === this.#floating.length) return new Map(courses);
    this.#floating = matters;
    const kept = new Map<string, Course>();
    for (const { states, done } of courses.values()) {
      this.#add(kept, { states, done: new Set(matters.filter((one) => done.has(one))) });
    }
    return kept;
  }

  #add(courses: Map<string, Course>, course: Course): boolean {
    this.#gaveUp ||= ++this.#steps > MOST_STEPS;
    const done = [...course.done].map((one) => this.#numberOf.get(one) as number).sort((a, b) => a - b);
    const key = `${JSON.stringify(course.states)} ${done.join()}`;
    if (courses.has(key)) return false;
    courses.set(key, course);
    return true;
  }

  #left(at: number): number {
    return this.#groups.slice(at).reduce((sum, group) => sum + group.length, 0);
  }
}

function groupsOf(decided: readonly Decided[]): readonly (readonly Decided[])[] {
  const groups = new Map<number, Decided[]>();
  for (const call of [...decided].sort((a, b) => a.reply.atMs - b.reply.atMs)) {
    const group = groups.get(call.reply.atMs);
    if (group === undefined) groups.set(call.reply.atMs, [call]);
    else group.push(call);
  }
  return [...groups.values()];
}

/** @param firstEndMs - When the first of the decisions to come had ended: what was invoked later comes behind it. */
function mayRun({ call, fromMs, untilMs }: Floating, firstEndMs: number, atMs: number): boolean {
  return call.invokedMs <= firstEndMs && fromMs <= atMs && atMs <= untilMs;
}

/** Whether a call must find this one carried out. */
function isDueBefore({ call, certain }: Floating, other: Call): boolean {
  return certain && call.endedMs < other.invokedMs;
}

/** Whether the end of this one is settled when that call runs, because it was sent after it. */
function isBehind({ call, certain, inOrder }: Floating, other: Call): boolean {
  return !certain && inOrder && other.process === call.process && other.invokedMs > call.endedMs;
}
