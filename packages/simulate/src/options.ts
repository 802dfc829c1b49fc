import { parseDuration } from '@sluice/old-core/spi';
import { UsageError } from './terminal/failure.ts';
import { formatMaker } from './formats/detect.ts';
import type { LogFormat } from './formats/log-entry.ts';

/** The flags of `sluice simulate`. */
export interface SimulateFlags {
  readonly policy?: readonly string[];
  readonly key: string;
  readonly format?: string;
  readonly route?: readonly string[];
  readonly maxClients?: string;
  readonly html?: string;
  readonly decisions?: string;
  readonly maxKeys: string;
  readonly resort: string;
}

/** The flags, read. */
export interface SimulateSettings {
  readonly makeFormat: (() => LogFormat) | undefined;
  readonly maxClients: number | undefined;
  readonly maxKeys: number;
  readonly resortMs: number;
}

const LONGEST_RESORT_MS = 3_600_000;

/** @throws UsageError that names the flag. */
export function readSettings(flags: SimulateFlags): SimulateSettings {
  return {
    makeFormat: flags.format === undefined ? undefined : formatMaker(flags.format),
    maxClients: shareOf(flags.maxClients),
    maxKeys: wholeOf(flags.maxKeys),
    resortMs: resortOf(flags.resort),
  };
}

/** `0.1%`, or the share itself, from 0 to 1. */
function shareOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d+(?:\.\d+)?|\.\d+)(%?)$/.exec(text.trim());
  const share = match === null ? NaN : Number(match[1]) / (match[2] === '%' ? 100 : 1);
  if (share >= 0 && share <= 1) return share;
  throw new UsageError(`--max-clients must be a share such as 0.1% or 0.001, got ${JSON.stringify(text)}`);
}

function wholeOf(text: string): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value < 1)
    throw new UsageError(`--max-keys must be a whole number from 1 to 999999999, got ${JSON.stringify(text)}`);
  return value;
}

function resortOf(text: string): number {
  let ms: number;
  try {
    ms = parseDuration(/^\d+$/.test(text) ? Number(text) : text, '--resort', 'SLUICE_OPTION_INVALID', 0);
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
  if (ms <= LONGEST_RESORT_MS) return ms;
  throw new UsageError(`--resort must be at most 1h, because so much of the log is held, got ${JSON.stringify(text)}`);
}
