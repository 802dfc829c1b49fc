import { createRequire } from 'node:module';
import type { describe as describeInJest, it as itInJest } from '@jest/globals';

/** The tables of Jest, for functions other than its own. Its declarations do not compile. */
const { bind } = createRequire(import.meta.url)('jest-each') as {
  bind: (define: unknown, supportsDone: boolean) => never;
};

/** A test of the contract. */
export interface Scenario {
  /** With those of the blocks around it: joined by ` › `. */
  readonly title: string;
  readonly run: () => Promise<void>;
  /** Where it takes longer than most. */
  readonly timeoutMs: number | undefined;
}

let path: readonly string[] = [];
let found: Scenario[] = [];

function defineBlock(title: string, body: () => void): void {
  const outer = path;
  path = [...outer, title];
  body();
  path = outer;
}

function defineTest(title: string, test: () => void | Promise<void>, timeoutMs?: number): void {
  found.push({ title: [...path, title].join(' › '), run: async () => test(), timeoutMs });
}

/** `describe` of Jest, for {@link scenariosOf}. */
export const describe: typeof defineBlock & { readonly each: (typeof describeInJest)['each'] } = Object.assign(
  defineBlock,
  { each: bind(defineBlock, false) },
);

/** `it`, likewise. */
export const it: typeof defineTest & { readonly each: (typeof itInJest)['each'] } = Object.assign(defineTest, {
  each: bind(defineTest, false),
});

/** The scenarios that a function describes. They are listed, so that some of them can be selected. */
export function scenariosOf(described: () => void): readonly Scenario[] {
  found = [];
  described();
  return found;
}

/** Whether a title of a table is this one, or a whole part of it. */
export function isNamed(title: string, named: string): boolean {
  return ` › ${title} › `.includes(` › ${named} › `);
}
