import { StoreError, shown } from '../../errors.ts';
import { BLOCKED } from '../../program/decide.ts';
import { perform, type Held, type Keys } from '../perform.ts';
import type { Answer, Ask, Figures, Op } from '../store.ts';
import { foreignKey, readText } from '../text.ts';
import { rejectCallers, timesOf, type Caller, type Request } from './requests.ts';
import type { Call } from './write-call.ts';

/** Receives each answer before its caller. */
export type OnAnswer = (op: Op, asks: readonly Ask[], answer: Answer) => void;

/**
 * Answers the callers of a call's requests: runs the program over the values that the script found, or reads the figures
 * that it answers.
 *
 * @throws StoreError `SLUICE_STORE_REPLY_INVALID`, before any caller is answered, for what is no reply of the script.
 */
export function answerCallers(reply: unknown, call: Call, requests: readonly Request[], onAnswer: OnAnswer): void {
  const lines = textOf(reply)?.split('\n') ?? [];
  const atMs = /^[1-9]\d{0,15}$/.test(lines[0] ?? '') ? Number(lines[0]) : Number.NaN;
  let expected = 1;
  for (const request of requests) expected += call.answersFigures ? timesOf(request) : request.asks.length;
  if (!Number.isSafeInteger(atMs) || lines.length !== expected) throw strange(reply);
  let line = 1;
  let key = 0;
  for (const request of requests) {
    const { op, asks, caller, others } = request;
    const times = timesOf(request);
    try {
      const held = call.answersFigures ? undefined : readValues(asks, lines, line, call.keys, key);
      for (let i = 0; i < times; i++) {
        const answer =
          held === undefined
            ? { atMs, figures: readFigures(call.keys.slice(key, key + asks.length), lines[line + i] as string) }
            : perform(held, op, asks, atMs);
        onAnswer(op, asks, answer);
        (i === 0 ? caller : (others?.[i - 1] as Caller)).resolve(answer);
      }
    } catch (error) {
      rejectCallers([request], error);
    }
    line += call.answersFigures ? times : asks.length;
    key += asks.length;
  }
}

/** What one key holds. */
class OneKey implements Keys {
  #held: Held | undefined;

  constructor(held: Held | undefined) {
    this.#held = held;
  }

  get(): Held | undefined {
    return this.#held;
  }

  set(_key: string, held: Held): void {
    this.#held = held;
  }
}

/** What the keys of a request held before it. */
function readValues(
  asks: readonly Ask[],
  lines: readonly string[],
  line: number,
  names: readonly string[],
  key: number,
): Keys {
  if (asks.length === 1) {
    const text = lines[line] as string;
    return new OneKey(text === '' ? undefined : readText(names[key] as string, text));
  }
  const held = new Map<string, Held>();
  for (let i = 0; i < asks.length; i++) {
    const text = lines[line + i] as string;
    if (text !== '') held.set((asks[i] as Ask).key, readText(names[key + i] as string, text));
  }
  return held;
}

/** The line of a request: the figures of each key with commas between, "!" for a value that is no state. */
function readFigures(names: readonly string[], line: string): Figures[] {
  const parts = line.split(';');
  return names.map((name, i) => {
    if (parts[i] === '!') throw foreignKey(name);
    const figures = (parts[i] ?? '').split(',').map(Number);
    if (figures.length <= BLOCKED || !figures.every(Number.isSafeInteger)) throw strange(line);
    return figures;
  });
}

/** Clients may return bytes. */
function textOf(reply: unknown): string | undefined {
  if (reply instanceof Uint8Array)
    return Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength).toString('latin1');
  return typeof reply === 'string' ? reply : undefined;
}

function strange(reply: unknown): StoreError {
  return new StoreError(
    'SLUICE_STORE_REPLY_INVALID',
    `the script returned ${shown(reply)} instead of lines with an instant and what each key held`,
  );
}
