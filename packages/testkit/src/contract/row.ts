import { expect } from '@jest/globals';
import { fixedWindow, type FixedWindowPolicy, type Store } from '@sluice/core';
import type { FakeClock } from '@sluice/core/testing';
import type { HttpAnswer } from '../http-client.ts';
import type { Answer, Limit } from './adapter.ts';
import type { Ask } from './ask.ts';
import { Log } from './log.ts';
import type { Scene, Served, Stage, Way } from './stage.ts';

/** A scenario described by options, requests and their answers. */
export interface Row extends Served {
  readonly title: string;
  /** Default: both. */
  readonly ways?: readonly Way[];
  /** Counts in a new store by default. A function creates options that hold a resource while in use. */
  readonly limit: Limit | ((tools: Tools) => Limit);
  readonly steps: readonly Step[];
  /** What the functions in the options have logged. */
  readonly logged?: readonly unknown[];
  /** How often handlers may run, if the framework decides which requests reach them. */
  readonly handledAtMost?: number;
}

export interface Tools {
  readonly clock: FakeClock;
  readonly store: () => Store;
  readonly log: (entry: unknown) => void;
  /** Answers in the framework's own way. */
  readonly answer: (response: never, answer: Answer) => unknown;
}

/**
 * The request; the status of its answer, or one for each time it is sent; the header fields of each answer; its body.
 */
export type Step = readonly [ask: Ask, status: Status | readonly Status[], fields?: Fields, body?: string | RegExp];

export type Status = number | ((status: number) => boolean);

/**
 * Header fields by their names in lower case, undefined if there is none. The fields of a limiter (RateLimit...,
 * X-RateLimit..., Retry-After) are exactly these; other fields that are not listed may be present. `x-limit` is what
 * the handler received: outcome, remaining units, key. Alone, it restricts no other field.
 */
export type Fields = Readonly<Record<string, string | undefined>>;

/** The rows of a table by title: options, and what follows from them. */
export type Table = Readonly<Record<string, Entry>>;
type Entry = readonly [limit: Row['limit'] | Within, ...steps: readonly Step[]];

interface Within {
  readonly within: Partial<Row>;
  readonly limit: Row['limit'];
}

/** Options in an unusual application, or with further expectations. */
export function within(more: Partial<Row>, limit: Row['limit']): Within {
  return { within: more, limit };
}

/** Rows that differ in a few words. */
export function each<Item>(items: readonly Item[], rowOf: (item: Item) => readonly [title: string, ...Entry]): Table {
  return Object.fromEntries(items.map(rowOf).map(([title, ...entry]) => [title, entry]));
}

/** @param common - What all rows have in common. */
export function makeRows(table: Table, common: Partial<Row> = {}): readonly Row[] {
  return Object.entries(table).map(([title, [given, ...steps]]) => {
    const own = 'within' in given ? { ...given.within, limit: given.limit } : { limit: given };
    return { ...common, title, steps, ...own };
  });
}

/** The usual policy: this many units an hour. */
export function hourly(limit: number): FixedWindowPolicy {
  return fixedWindow({ limit, window: '1h' });
}

/** The usual request, with the status of each answer. */
export function get(...statuses: readonly Status[]): Step {
  return [{}, statuses];
}

/** Neither denied nor broken: without a handler, the status is the framework's. */
export const passes: Status = (status) => status !== 429 && status < 500;
export const anything: Status = () => true;

/** The fields of the default format. */
export function shows(policy: string, state: string, retryAfter?: string): Fields {
  return { 'ratelimit-policy': policy, ratelimit: state, 'retry-after': retryAfter };
}

/** The fields of the limiter's answer without a decision. */
export const PROBLEM: Fields = { 'content-type': 'application/problem+json', 'cache-control': 'no-store' };
export const FORBIDDEN = '{"type":"about:blank","title":"Forbidden","status":403}';
/** Without a decision. */
export const UNTOLD: Fields = { 'x-limit': undefined, ratelimit: undefined };

const OF_A_LIMITER = /^(x-)?ratelimit|^retry-after$/;

export function makeScene(one: Row): Scene {
  return { ways: ['at the route', 'application-wide, answered later'], ...one, play: (stage) => playRow(one, stage) };
}

/** Sends a row's requests, and compares the answers. Handlers run only for the answers that are theirs. */
async function playRow({ limit, steps, logged, handledAtMost, ...served }: Row, stage: Stage): Promise<void> {
  const { clock, store, adapter } = stage;
  const log = new Log();
  const answer = (response: never, answered: Answer): unknown => adapter.answer(response, answered);
  const tools = { clock, store, log: log.add, answer };
  const server = await stage.serve(typeof limit === 'function' ? limit(tools) : limit, served);
  const [seen, expected]: [unknown[], unknown[]] = [[], []];
  let handled = 0;

  for (const [i, [ask, statuses, fields, body]] of steps.entries()) {
    for (const wanted of [statuses].flat()) {
      clock.advance(ask.afterMs ?? 0);
      const answered = await server.send(ask);
      const { status, headers } = answered;
      if (headers['x-handled'] !== undefined) handled++;
      expected.push({ step: i, status: wanted, fields: fields && defined(fields), body });
      seen.push({
        step: i,
        status: typeof wanted === 'function' && wanted(status) ? wanted : status,
        fields: fields && defined(pickFields(answered, fields)),
        body: body instanceof RegExp && body.test(answered.body) ? body : body && answered.body,
      });
    }
  }

  expect(seen).toEqual(expected);
  expect(server.calls.all.filter(({ hasAnswered }) => hasAnswered).length).toBe(handled);
  if (handledAtMost !== undefined) expect([handled > 0, handled <= handledAtMost]).toEqual([true, true]);
  if (logged !== undefined) expect(log.all).toEqual(logged);
}

function pickFields({ headers }: HttpAnswer, listed: Fields): Fields {
  const isTold = Object.keys(listed).join() === 'x-limit';
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name in listed || (!isTold && OF_A_LIMITER.test(name))),
  );
}

function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
