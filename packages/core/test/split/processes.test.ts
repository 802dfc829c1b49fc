import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until, useRedis } from '@sluice/testkit';
import { build } from 'esbuild';

const LIMIT = 60;
const WINDOW_MS = 1000;

/** The rights of a user that is only a member, as docs/guides/redis-permissions.md states them. */
const MEMBER = '~sluice:members:* +evalsha +eval +time +hget +hgetall +hset +hdel +pexpire +info';

const redis = useRedis();
const folder = mkdtempSync(join(tmpdir(), 'sluice-split-'));
const script = join(folder, 'member.mjs');
const running = new Set<ChildProcess>();
beforeAll(async () => {
  await redis.admin.call('ACL', 'SETUSER', 'member', 'on', '>secret', ...MEMBER.split(' '));
  await build({
    entryPoints: [fileURLToPath(new URL('children/split-member.ts', import.meta.url))],
    ...{ bundle: true, platform: 'node', format: 'esm', outfile: script, logLevel: 'silent' },
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
});
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** A line of a process. */
interface Told {
  readonly allowed: boolean;
  readonly source: string;
  readonly outcome: string;
  readonly instants: readonly [number, number, number];
}

/** Units that one process was given in one window. */
interface Taken {
  readonly by: number;
  readonly window: number;
}

/** What all processes were given, by each of the two clocks. */
class Ledger {
  readonly #byDecision: Taken[] = [];
  readonly #byServer: Taken[] = [];
  /** What was answered otherwise than by a share. */
  readonly otherwise = new Set<string>();

  note(by: number, line: string): void {
    const { allowed, source, outcome, instants } = JSON.parse(line) as Told;
    if (source !== 'split') this.otherwise.add(`${source}: ${outcome}`);
    if (!allowed) return;
    const [decision, before, after] = instants.map((atMs) => Math.floor(atMs / WINDOW_MS)) as [number, number, number];
    this.#byDecision.push({ by, window: decision });
    // The server is on this machine. What lies across a boundary may belong to either side.
    if (before === after) this.#byServer.push({ by, window: before });
  }

  /** Whether there is a window in which these processes, and no others, had all of the limit among them. */
  isFull(among: readonly number[]): boolean {
    return [...perWindow(this.#byDecision).values()].some((given) => {
      const takers = new Set(given.map(({ by }) => by));
      return given.length === LIMIT && takers.size === among.length && among.every((by) => takers.has(by));
    });
  }

  maxPerWindow(): readonly [byDecision: number, byServer: number] {
    const max = (given: readonly Taken[]): number =>
      Math.max(...[...perWindow(given).values()].map(({ length }) => length));
    return [max(this.#byDecision), max(this.#byServer)];
  }
}

function perWindow(given: readonly Taken[]): ReadonlyMap<number, Taken[]> {
  const windows = new Map<number, Taken[]>();
  for (const one of given) windows.set(one.window, [...(windows.get(one.window) ?? []), one]);
  return windows;
}

function start(by: number, ledger: Ledger): ChildProcess {
  const child = spawn(process.execPath, [script, redis.server.url.replace('redis://', 'redis://member:secret@')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  running.add(child);
  child.on('exit', () => running.delete(child));
  createInterface({ input: child.stdout }).on('line', (line) => {
    ledger.note(by, line);
  });
  return child;
}

describe('five processes that share a limit, of which two are killed and three are started', () => {
  it('allow no more than the limit in any window, and all of it whenever they have settled', async () => {
    const ledger = new Ledger();
    const children = [0, 1, 2, 3, 4].map((by) => start(by, ledger));
    await until('five have the limit among them', () => ledger.isFull([0, 1, 2, 3, 4]));

    children.slice(0, 2).forEach((child) => child.kill('SIGKILL'));
    await until('they are gone', () => running.size === 3);
    await until('three have it', () => ledger.isFull([2, 3, 4]));
    const more = [5, 6, 7].map((by) => start(by, ledger));
    await until('six have it', () => ledger.isFull([2, 3, 4, 5, 6, 7]));
    for (const child of [...children.slice(2), ...more]) child.stdin?.end();
    await until('all are gone', () => running.size === 0);

    const [byDecision, byServer] = ledger.maxPerWindow();
    expect(byDecision).toBe(LIMIT);
    expect(byServer).toBeLessThanOrEqual(LIMIT);
    // A process that had to wait too long for the machine has lost its share, and denies.
    expect([...ledger.otherwise].filter((answer) => answer !== 'none: unavailable')).toEqual([]);
  });
});
