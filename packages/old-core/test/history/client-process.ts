import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Call, End, Reply } from './history.ts';
import type { PolicyText } from './plan.ts';

/** The options of client.mjs. */
export interface ClientOptions {
  /** Or what makes another store of the URL: the name of a function in a built module. */
  readonly client: 'url' | 'ioredis' | { readonly module: string; readonly make: string };
  readonly url: string;
  readonly store: { readonly breaker: { readonly failures: number; readonly probeEveryMs: number } };
  readonly timeoutMs: number;
  readonly keys: readonly (readonly PolicyText[])[];
  /** The most calls that it sometimes makes in one turn of its event loop. */
  readonly together: number;
  readonly seed: number;
  /** The file for its calls. */
  readonly log: string;
  /** Runs altered scripts. */
  readonly script?: AlteredScript | undefined;
}

export interface AlteredScript {
  /** Replacements in the scripts: text and new text. */
  readonly changes: readonly (readonly [text: string, by: string])[];
  /**
   * For the test build of the scripts, which take the time from each process: how far its clock is ahead of the
   * previous.
   */
  readonly clockAheadMs?: number;
}

/** A process that calls limiters until it is stopped or killed. */
export interface ClientProcess {
  readonly number: number;
  begin(): void;
  stop(): Promise<void>;
  /** Kill -9. */
  kill(): Promise<void>;
  /** How many calls it has made so far. Throws when it has ended by itself. */
  made(): number;
  /** All of its calls, when it has ended. */
  calls(): readonly Call[];
}

const SCRIPT = fileURLToPath(new URL('client.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/index.js', import.meta.url));

/** Starts a process, and waits until it can begin. */
export async function startClient(number: number, options: ClientOptions): Promise<ClientProcess> {
  if (!existsSync(BUILT))
    throw new Error('packages/old-core/dist is missing: run `npm run build` first (npm test does)');
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify({ ...options, number })], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let errors = '';
  let killed = false;
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  child.stdin.on('error', () => undefined); // it may have ended
  const exited = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exited]);
  return {
    number,
    begin() {
      child.stdin.write('begin\n');
    },
    async stop() {
      child.stdin.end();
      await exited;
    },
    async kill() {
      killed = true;
      child.kill('SIGKILL');
      await exited;
    },
    made() {
      if (!killed && (child.exitCode ?? child.signalCode) !== null)
        throw new Error(`a client process failed:\n${errors}`);
      return existsSync(options.log) ? readFileSync(options.log, 'utf8').split('"op":').length - 1 : 0;
    },
    calls() {
      if (!killed && child.exitCode !== 0) throw new Error(`a client process failed:\n${errors}`);
      return readCalls(number, options.log);
    },
  };
}

/** The lines of client.mjs: one when a call is made, one when its end is known. */
type Line =
  | { readonly broken: string }
  | {
      readonly n: number;
      readonly op: Call['op'];
      readonly key: number;
      readonly cost: number;
      readonly invokedMs: number;
      readonly of?: number;
    }
  | { readonly n: number; readonly end: End; readonly endedMs: number; readonly reply?: Reply };

function readCalls(number: number, log: string): readonly Call[] {
  const calls: Call[] = [];
  const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n') : [];
  for (const text of lines.filter((line) => line.endsWith('}'))) {
    const line = JSON.parse(text) as Line;
    if ('broken' in line) throw new Error(`a client process found an impossible state:\n${line.broken}`);
    if ('op' in line) {
      const { n, op, key, cost, invokedMs, of } = line;
      const charge = of === undefined ? undefined : calls[of]?.reply;
      calls[n] = { op, process: number, key: String(key), cost, invokedMs, endedMs: Infinity, end: 'unknown', charge };
    } else {
      const { n, end, endedMs, reply } = line;
      calls[n] = { ...(calls[n] as Call), end, endedMs, reply };
    }
  }
  return calls;
}
