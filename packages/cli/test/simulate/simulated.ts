import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import type { Report } from '../../src/simulate/report.ts';
import { runHere, type Ran } from '../sluice.ts';

/** A request of a generated log. */
export interface LoggedRequest {
  readonly address?: string;
  readonly atMs: number;
  readonly method?: string;
  readonly target?: string;
  readonly status?: number;
  readonly agent?: string;
}

/** A Sunday, at midnight. */
export const START_MS: number = Date.UTC(2026, 4, 17);

/** A log in the combined format. */
export function combinedLog(requests: readonly LoggedRequest[]): string {
  return requests
    .map(({ address = '203.0.113.7', atMs, method = 'GET', target = '/', status = 200, agent = 'curl/8' }) => {
      const [, day, time] = /^\d+-\d+-(\d+)T(\d+:\d+:\d+)/.exec(new Date(atMs).toISOString()) ?? [];
      return `${address} - - [${day ?? ''}/May/2026:${time ?? ''} +0000] "${method} ${target} HTTP/1.1" ${String(status)} 512 "-" "${agent}"\n`;
    })
    .join('');
}

/** This many requests of one client, at once. */
export function burst(count: number, atMs: number, rest: Omit<LoggedRequest, 'atMs'> = {}): readonly LoggedRequest[] {
  return Array.from({ length: count }, () => ({ atMs, ...rest }));
}

export interface Simulated {
  run(...args: readonly string[]): Promise<Ran>;
  /** What `--json` prints. Throws if nothing is printed. */
  report(...args: readonly string[]): Promise<Report>;
  /** The path of a new file. */
  file(content: string | Uint8Array, name?: string): string;
  read(name: string): string;
}

export function useSimulate(): Simulated {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-simulate-'));
  let files = 0;
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const run = (...args: readonly string[]): Promise<Ran> => runHere(['simulate', ...args]);
  return {
    run,
    async report(...args) {
      const { out, err } = await run(...args, '--json');
      if (out === '') throw new Error(err);
      return JSON.parse(out) as Report;
    },
    file(content, name = `log-${String(files++)}`) {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    },
    read: (path) => readFileSync(path, 'utf8'),
  };
}

/** Numbers from 0 to 1, the same for each seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return ((state >>> 8) % 65_536) / 65_536;
  };
}
