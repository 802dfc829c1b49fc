import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { Host, type Ran } from '../../cli/test/host.ts';

/** A request of a generated log. */
export interface LoggedRequest {
  readonly address?: string;
  readonly atMs: number;
  readonly method?: string;
  readonly target?: string;
  readonly status?: number;
  readonly bytes?: number;
  readonly agent?: string;
}

/** A Sunday, at midnight. */
export const START_MS: number = Date.UTC(2026, 4, 17);
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** An instant as Apache and nginx write it. */
export function clfStamp(atMs: number): string {
  const [, year, month, day, time] = /^(\d+)-(\d+)-(\d+)T(\d+:\d+:\d+)/.exec(new Date(atMs).toISOString()) ?? [];
  return `${day ?? ''}/${MONTHS[Number(month) - 1] ?? ''}/${year ?? ''}:${time ?? ''} +0000`;
}

/** A log in the combined format. */
export function combinedLog(requests: readonly LoggedRequest[]): string {
  return requests
    .map(
      ({ address = '203.0.113.7', atMs, method = 'GET', target = '/', status = 200, bytes = 512, agent = 'curl/8' }) =>
        `${address} - - [${clfStamp(atMs)}] "${method} ${target} HTTP/1.1" ${String(status)} ${String(bytes)} "-" "${agent}"\n`,
    )
    .join('');
}

/** So many requests of one client, at once. */
export function burst(count: number, atMs: number, rest: Omit<LoggedRequest, 'atMs'> = {}): readonly LoggedRequest[] {
  return Array.from({ length: count }, () => ({ atMs, ...rest }));
}

/** What is read of `--json`; see report.ts. */
export interface CandidateJson {
  readonly policy: string;
  readonly denied: number;
  readonly deniedShare: number;
  readonly deniedSucceeded: number;
  readonly clients: number;
  readonly clientsShare: number;
  readonly withoutKey: readonly { readonly key: string; readonly requests: number }[];
  readonly delayed: number;
  readonly longestDelayMs: number;
  readonly top: readonly {
    readonly client: string;
    readonly denied: number;
    readonly paths: readonly (readonly [string, number])[];
    readonly userAgents: readonly (readonly [string, number])[];
    readonly statuses: readonly (readonly [number, number])[];
  }[];
}

export interface ReportJson {
  readonly logs: readonly {
    readonly format: string;
    readonly lines: number;
    readonly unreadable: number;
    readonly firstUnreadable: number | null;
    readonly stray: number;
    readonly firstStray: number | null;
  }[];
  readonly requests: number;
  readonly clients: number;
  readonly withoutKey: number;
  readonly late: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly wholeSeconds: boolean;
  readonly dropped: { readonly keys: number; readonly live: number };
  readonly candidates: readonly CandidateJson[];
  readonly peaks: readonly Readonly<Record<string, number | string>>[];
  readonly suggestions: {
    readonly windows: readonly {
      readonly policy: string;
      readonly limit: number;
      readonly clients: number;
      readonly denied: number;
      readonly deniedSucceeded: number;
    }[];
  };
}

export interface Simulated {
  /** Runs `sluice simulate` in a process that the commands of a test file share. */
  run(...args: readonly string[]): Promise<Ran>;
  /** What `--json` prints. Throws when the command fails for another reason than a bound. */
  report(...args: readonly string[]): Promise<ReportJson>;
  /** The path of a new file. */
  file(content: string | Uint8Array, name?: string): string;
  path(name: string): string;
  read(name: string): string;
}

export function useSimulate(env: () => Readonly<Record<string, string>> = () => ({})): Simulated {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-simulate-'));
  let host: Host | undefined;
  let files = 0;
  afterAll(async () => {
    await host?.end();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = (...args: readonly string[]): Promise<Ran> => (host ??= new Host(env())).run(['simulate', ...args]);
  return {
    run,
    async report(...args) {
      const { out, err } = await run(...args, '--json');
      if (out === '') throw new Error(err);
      return JSON.parse(out) as ReportJson;
    },
    file(content, name = `log-${String(files++)}`) {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    },
    path: (name) => join(folder, name),
    read: (name) => readFileSync(join(folder, name), 'utf8'),
  };
}

/** The first candidate of a report. */
export function first({ candidates }: ReportJson): CandidateJson {
  const [candidate] = candidates;
  if (candidate === undefined) throw new Error('the report has no candidate');
  return candidate;
}

/** Numbers from 0 to 1, the same for each seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return ((state >>> 8) % 65_536) / 65_536;
  };
}
