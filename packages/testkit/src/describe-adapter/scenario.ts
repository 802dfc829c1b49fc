import { createRequire } from 'node:module';
import { describe as describeInJest, it as itInJest } from '@jest/globals';
import type { Impossible } from '../adapter-target/target.ts';

/** The tables of Jest, for functions other than its own. Its declarations do not compile. */
const { bind } = createRequire(import.meta.url)('jest-each') as {
  bind: (define: unknown, supportsDone: boolean) => never;
};

/** How `describe` and `it` of the scenarios act: titles are collected, or tests are defined. */
interface Reading {
  readonly defines: boolean;
  readonly impossible: Impossible;
  /** Of the blocks around the present line. */
  readonly path: string[];
  readonly titles: string[];
}

let reading: Reading | undefined;

type Test = () => void | Promise<void>;

function defineBlock(title: string, body: () => void): void {
  const present = now();
  present.path.push(title);
  try {
    if (present.defines && reasonIn(present) === undefined) describeInJest(title, body);
    else read({ ...present, defines: false }, body);
  } finally {
    present.path.pop();
  }
}

function defineTest(title: string, test: Test, timeoutMs?: number): void {
  const present = now();
  present.path.push(title);
  present.titles.push(present.path.join(' › '));
  if (present.defines && reasonIn(present) === undefined) itInJest(title, test, timeoutMs);
  present.path.pop();
}

/** `describe` of Jest, but for what is impossible for a target. */
export const describe: typeof defineBlock & { readonly each: (typeof describeInJest)['each'] } = Object.assign(
  defineBlock,
  {
    each: bind(defineBlock, false),
  },
);

/** `it` of Jest, likewise. */
export const it: typeof defineTest & { readonly each: (typeof itInJest)['each'] } = Object.assign(defineTest, {
  each: bind(defineTest, false),
});

/** Reads scenarios, and defines them but for those that are impossible. Returns all titles. */
export function defineScenarios(impossible: Impossible, scenarios: () => void): readonly string[] {
  const titles: string[] = [];
  read({ defines: true, impossible, path: [], titles }, scenarios);
  return titles;
}

/** The titles of scenarios, each with those of the blocks around it. Defines nothing. */
export function titlesOf(scenarios: () => void): readonly string[] {
  const titles: string[] = [];
  read({ defines: false, impossible: {}, path: [], titles }, scenarios);
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

function now(): Reading {
  if (reading === undefined) throw new Error('scenarios are defined by describeAdapter');
  return reading;
}
