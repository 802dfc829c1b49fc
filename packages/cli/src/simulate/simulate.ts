import { Failure, UsageError } from '../failure.ts';
import { readCandidate } from './candidate.ts';
import { formatMaker } from './formats/choose.ts';
import { checkHtml, formatHtmlReport, writeHtml } from './html-report.ts';
import { readKey, type KeySpec } from './key.ts';
import { LogFile, merge } from './log/log-file.ts';
import { Replay, type ReplayOptions } from './replay.ts';
import { makeCurves, makeReport } from './report.ts';
import { formatTextReport } from './text-report.ts';

/** The flags of `sluice simulate`. */
export interface SimulateFlags {
  readonly policy?: readonly string[];
  readonly key: string;
  readonly format?: string;
  readonly route?: readonly string[];
  readonly maxClients?: string;
  readonly html?: string;
  readonly maxKeys: string;
}

/** The share of clients that suggested limits may deny, unless `--max-clients` is given. */
const MAX_CLIENTS = 0.001;

/**
 * `sluice simulate`: replays the logs, prints the report, and writes the page.
 *
 * @throws (rejects) UsageError; Failure if a candidate exceeds the bound.
 */
export async function simulate(
  logs: readonly string[],
  flags: SimulateFlags,
  json: boolean,
  onDecision?: ReplayOptions['onDecision'],
): Promise<void> {
  const { html, route = [] } = flags;
  const bound = flags.maxClients === undefined ? undefined : readShare(flags.maxClients);
  const keyOf = (text: string): KeySpec => readKey(text, route);
  const key = keyOf(flags.key);
  const candidates = (flags.policy ?? []).map((text) => readCandidate(text, key, keyOf));
  const makeFormat = flags.format === undefined ? undefined : formatMaker(flags.format);
  if (html !== undefined) checkHtml(html, logs);
  const replay = new Replay({ candidates, key, maxKeys: readCount(flags.maxKeys), onDecision });
  const files = logs.map((path) => new LogFile(path, makeFormat));
  try {
    for await (const entries of merge(files)) for (const entry of entries) replay.add(entry);
  } finally {
    for (const file of files) file.close();
  }
  replay.end();
  const report = makeReport(replay, files, { key: key.text, bound, maxClients: bound ?? MAX_CLIENTS });
  if (html !== undefined) writeHtml(html, formatHtmlReport(report, makeCurves(replay, report)));
  console.log(json ? JSON.stringify(report, null, 2) : formatTextReport(report));
  // For a log without requests, the bound holds and means nothing.
  if (bound !== undefined && report.requests === 0)
    throw new Failure(`no requests in ${logs.join(', ')}: --max-clients says nothing about it`);
  if (report.exceeded.length > 0) throw new Failure('--max-clients is exceeded');
}

/** `0.1%`, or the share itself, from 0 to 1. */
function readShare(text: string): number {
  const match = /^(\d+(?:\.\d+)?|\.\d+)(%?)$/.exec(text.trim());
  const share = match === null ? NaN : Number(match[1]) / (match[2] === '%' ? 100 : 1);
  if (share >= 0 && share <= 1) return share;
  throw new UsageError(`--max-clients must be a share such as 0.1% or 0.001, got ${JSON.stringify(text)}`);
}

function readCount(text: string): number {
  const count = /^\d{1,8}$/.test(text) ? Number(text) : 0;
  if (count >= 2 && count <= 16_000_000) return count;
  throw new UsageError(`--max-keys must be a whole number from 2 to 16000000, got ${JSON.stringify(text)}`);
}
