import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll } from '@jest/globals';
import type { Redis } from 'ioredis';
import { useRedis } from '@sluice/testkit';
import { run } from '../src/run.ts';

/** What a command printed, without the spaces at its end, and its exit code. */
export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const BUILT = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** Runs the program as it is built and installed, in a process of its own, and waits for its end. */
export async function runSluice(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran> {
  const { child, ended } = startSluice(args, env);
  child.stdin.end();
  return ended;
}

/** Starts the program, whose standard input stays open. */
export function startSluice(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): {
  readonly child: ChildProcessWithoutNullStreams;
  /** So far. */
  readonly printed: { readonly out: string; readonly err: string };
  readonly ended: Promise<Ran>;
} {
  if (!existsSync(BUILT)) throw new Error('packages/cli/dist is missing: run `npm run build` first (npm test does)');
  const child = spawn(process.execPath, [BUILT, ...args], { env: { PATH: process.env['PATH'] ?? '', ...env } });
  const printed = { out: '', err: '' };
  child.stdout.on('data', (text: Buffer) => (printed.out += text.toString()));
  child.stderr.on('data', (text: Buffer) => (printed.err += text.toString()));
  const ended = once(child, 'close').then(([code]): Ran => ({
    code: code as number | null,
    out: printed.out.trimEnd(),
    err: printed.err.trimEnd(),
  }));
  return { child, printed, ended };
}

let last: Promise<unknown> = Promise.resolve();

/** Runs a command line in this process, one at a time: what is printed meanwhile is taken for its own. */
export function runHere(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const ran = last.then(() => runNow(args, env));
  last = ran.catch(() => undefined);
  return ran;
}

async function runNow(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ran> {
  let [out, err] = ['', ''];
  const { log, error } = console;
  const writes = [process.stdout.write, process.stderr.write] as const;
  const before = { ...process.env };
  console.log = (text: string) => void (out += `${text}\n`);
  console.error = (text: string) => void (err += `${text}\n`);
  process.stdout.write = ((text: string) => (out += text)) as never;
  process.stderr.write = ((text: string) => (err += text)) as never;
  Object.assign(process.env, env);
  try {
    const code = await run(args);
    return { code, out: out.trimEnd(), err: err.trimEnd() };
  } finally {
    Object.assign(console, { log, error });
    Object.assign(process.stdout, { write: writes[0] });
    Object.assign(process.stderr, { write: writes[1] });
    for (const name of Object.keys(env)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, before);
  }
}

/** A server, and the command as the user whose rights the reference names. */
export interface Cli {
  readonly admin: Redis;
  /** The URL of that user. */
  readonly url: string;
  readonly port: number;
  /** Runs the command in this process; {@link runSluice} has one for each. */
  sluice(...args: readonly string[]): Promise<Ran>;
  /** The value that the command prints with --json. Throws if the command fails. */
  json(...args: readonly string[]): Promise<unknown>;
}

/** The first line of the package's README after these words that creates the user of the command. */
export function documentedUser(after = ''): string[] {
  const text = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const line = /^ACL SETUSER (\S+ on >\S+ .*)$/m.exec(text.slice(text.indexOf(after)))?.[1];
  if (line === undefined) throw new Error('the README names no rights');
  return line.split(' ');
}

export function useCli(args: readonly string[] = []): Cli {
  const redis = useRedis(args);
  const [name = '', , password = ''] = documentedUser();
  beforeAll(async () => {
    await redis.admin.call('ACL', 'SETUSER', ...documentedUser());
  });
  const urlOf = (): string => `redis://${name}:${password.slice(1)}@127.0.0.1:${String(redis.server.port)}`;
  const sluice = (...given: readonly string[]): Promise<Ran> => runHere(given, { SLUICE_REDIS: urlOf() });
  return {
    get admin() {
      return redis.admin;
    },
    get url() {
      return urlOf();
    },
    get port() {
      return redis.server.port;
    },
    sluice,
    async json(...given) {
      const { code, out, err } = await sluice(...given, '--json');
      if (code !== 0) throw new Error(`exit code ${String(code)}: ${err}`);
      return JSON.parse(out) as unknown;
    },
  };
}
