import { checkBound } from '../bounds.ts';
import { wrong } from './members.ts';

/** A number as JSON writes it, which protobuf's JSON also has as a text. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** @throws CallError `INVALID_ARGUMENT` for what is no text of Unicode, or longer. No value is an empty text. */
export function textOf(value: unknown, at: string, longest: number): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') throw wrong(at, 'a text', value);
  if (!value.isWellFormed()) throw wrong(at, 'a text without half surrogate pairs', value);
  checkBound(Buffer.byteLength(value), longest, `${at} has bytes:`);
  return value;
}

/**
 * A whole number, as JSON writes one or as a text. Above 2^53 it is not exact.
 *
 * @throws CallError `INVALID_ARGUMENT` for others. No value is 0.
 */
export function numberOf(value: unknown, at: string, least: number, most: number): number {
  if (value === undefined) return 0;
  const number = typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most) return number + 0;
  throw wrong(at, `a whole number from ${String(least)} to ${String(BigInt(most))}`, value);
}

/** @throws CallError `INVALID_ARGUMENT` for others. No value is false. */
export function flagOf(value: unknown, at: string): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw wrong(at, 'true or false', value);
  return value;
}

/**
 * The number of an enum's value, which is given by its name or by the number, known or not.
 *
 * @param names - In order, from 0.
 * @throws CallError `INVALID_ARGUMENT` for others. No value is 0.
 */
export function enumOf(value: unknown, at: string, names: readonly string[]): number {
  if (typeof value !== 'string') return numberOf(value, at, -(2 ** 31), 2 ** 31 - 1);
  const number = names.indexOf(value);
  if (number === -1) throw wrong(at, `one of ${names.join(', ')}`, value);
  return number;
}
