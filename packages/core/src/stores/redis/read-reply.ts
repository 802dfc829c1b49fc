import { StoreError, shown } from '../../errors.ts';
import { BLOCKED } from '../../program/decide.ts';
import { perform, type Held } from '../perform.ts';
import type { Answer, Ask, Figures, Op } from '../store.ts';
import { foreignKey, readText } from '../text.ts';
import type { Request } from './requests.ts';
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
  for (const { asks, callers } of requests) expected += call.answersFigures ? callers.length : asks.length;
  if (!Number.isSafeInteger(atMs) || lines.length !== expected) throw strange(reply);
  let next = 1;
  for (const { op, asks, callers } of requests) {
    const first = next;
    next += call.answersFigures ? callers.length : asks.length;
    try {
      const held = call.answersFigures ? undefined : readValues(asks, lines, first);
      for (let i = 0; i < callers.length; i++) {
        const answer =
          held === undefined
            ? { atMs, figures: readFigures(asks, lines[first + i] as string) }
            : perform(held, op, asks, atMs);
        onAnswer(op, asks, answer);
        callers[i]?.resolve(answer);
      }
    } catch (error) {
      for (const caller of callers) caller.reject(error);
    }
  }
}

/** What the keys of a request held before it. */
function readValues(asks: readonly Ask[], lines: readonly string[], first: number): Map<string, Held> {
  const held = new Map<string, Held>();
  for (let i = 0; i < asks.length; i++) {
    const { key } = asks[i] as Ask;
    const line = lines[first + i] as string;
    if (line !== '') held.set(key, readText(key, line));
  }
  return held;
}

/** The line of a request: the figures of each key with commas between, "!" for a value that is no state. */
function readFigures(asks: readonly Ask[], line: string): Figures[] {
  const parts = line.split(';');
  return asks.map(({ key }, i) => {
    if (parts[i] === '!') throw foreignKey(key);
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
