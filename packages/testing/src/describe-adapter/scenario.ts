import { createRequire } from 'node:module';
import type { describe as describeInJest, it as itInJest } from '@jest/globals';
import type { Impossible } from '../adapter-target/target.ts';
import type { Suite as Runner } from '../runner.ts';

/** The tables of Jest, for functions other than its own. Its declarations do not compile. */
const { bind } = createRequire(import.meta.url)('jest-each') as {
  bind: (define: unknown, supportsDone: boolean) => never;
};

/** How `describe` and `it` of the scenarios act: titles are collected, or tests are defined. */
interface Reading {
  /** What defines tests. None: titles are collected alone. */
  readonly runner: Pick<Runner, 'describe' | 'it'> | undefined;
  readonly impossible: Impossible;
  /** The time limit of a test that has none of its own. */
  readonly timeoutMs: number;
  /** Of the blocks around the present line. */
  readonly path: readonly string[];
  readonly titles: string[];
}

let reading: Reading | undefined;

type Test = () => void | Promise<void>;

function defineBlock(title: string, body: () => void): void {
  const inner = within(title);
  // Some runners call the body of a block later than others.
  const define = (): void => {
    read(inner, body);
  };
  if (inner.runner === undefined) define();
  else inner.runner.describe(title, define);
}

function defineTest(title: string, test: Test, timeoutMs?: number): void {
  const { path, titles, runner, timeoutMs: usualMs } = within(title);
  titles.push(path.join(' › '));
  runner?.it(title, async () => test(), timeoutMs ?? usualMs);
}

/** The reading inside the block, or test, of this title: it defines nothing where the title is impossible. */
function within(title: string): Reading {
  if (reading === undefined) throw new Error('scenarios are defined by describeAdapter');
  const inner = { ...reading, path: [...reading.path, title] };
  return reasonIn(inner) === undefined ? inner : { ...inner, runner: undefined };
}

/** `describe` of the runner with the tables of Jest, but for what is impossible for a target. */
export const describe: typeof defineBlock & { readonly each: (typeof describeInJest)['each'] } = Object.assign(
  defineBlock,
  {
    each: bind(defineBlock, false),
  },
);

/** `it`, likewise. */
export const it: typeof defineTest & { readonly each: (typeof itInJest)['each'] } = Object.assign(defineTest, {
  each: bind(defineTest, false),
});

/** Reads scenarios, and defines them but for those that are impossible. */
export function defineScenarios(
  runner: Runner,
  impossible: Impossible,
  timeoutMs: number,
  scenarios: () => void,
): void {
  read({ runner, impossible, timeoutMs, path: [], titles: [] }, scenarios);
}

/** The titles of scenarios, each with those of the blocks around it. Defines nothing. */
export function titlesOf(scenarios: () => void): readonly string[] {
  const titles: string[] = [];
  read({ runner: undefined, impossible: {}, timeoutMs: 0, path: [], titles }, scenarios);
  return titles;
}

/** Whether a title of the table is this one, or a whole part of it. */
export function isNamed(title: string, named: string): boolean {
  return ` › ${title} › `.includes(` › ${named} › `);
}

function reasonIn({ impossible, path }: Reading): string | undefined {
  const title = path.join(' › ');
  return Object.entries(impossible).find(([named]) => isNamed(title, named))?.[1];
}

function read(as: Reading, body: () => void): void {
  const before = reading;
  reading = as;
  try {
    body();
  } finally {
    reading = before;
  }
}
