import { blocks } from './blocks.ts';
import { counter } from './counter.ts';
import { debt } from './debt.ts';
import type { Family } from './family.ts';
import { interval } from './interval.ts';
import { slots } from './slots.ts';
import { window } from './window.ts';

export type Kind = 'f' | 'i' | 't' | 'l' | 's' | 'c' | 'g' | 'h';

/**
 * The first letter of the values of each kind. Two policies of one kind read each other's states, whatever their
 * numbers; a state of another kind is treated as empty.
 */
export const KINDS: Readonly<Record<Kind, Family>> = {
  f: window, // fixed window
  i: interval, // bucket that is refilled at intervals
  t: debt, // token bucket
  l: debt, // leaky bucket
  s: blocks, // sliding window
  c: counter, // sliding counter
  g: slots, // sliding log
  h: slots, // concurrency: slots that are held
};
