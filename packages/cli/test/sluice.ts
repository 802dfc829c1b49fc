import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from '@jest/globals';
import type { Redis } from 'ioredis';
import { useRedis } from '@sluice/testkit';
import { Host, type Ran } from './host.ts';

export type { Ran } from './host.ts';

const BUILT = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** Runs the program as it is built and installed, in a process of its own, and waits for its end. */
export async function runSluice(
  args: readonly string[],
  { env = {}, input = '' }: { env?: Readonly<Record<string, string>>; input?: string } = {},
): Promise<Ran> {
  const { child, ended } = startSluice(args, env);
  child.stdin.end(input);
  return ended;
}

/** Starts the program, whose standard input stays open. */
export function startSluice(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { readonly child: ChildProcessWithoutNullStreams; readonly ended: Promise<Ran> } {
  requireBuild();
  const child = spawn(process.execPath, [BUILT, ...args], { env: { PATH: process.env['PATH'] ?? '', ...env } });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text: Buffer) => (out += text.toString()));
  child.stderr.on('data', (text: Buffer) => (err += text.toString()));
  const ended = once(child, 'close').then(([code]): Ran => ({
    code: code as number | null,
    out: out.trimEnd(),
    err: err.trimEnd(),
  }));
  return { child, ended };
}

function requireBuild(): void {
  if (!existsSync(BUILT)) throw new Error('packages/cli/dist is missing: run `npm run build` first (npm test does)');
}

/** A server, the command as the user whose rights the reference names, and a folder for files. */
export interface Cli {
  readonly admin: Redis;
  /** The URL of that user. */
  readonly url: string;
  /** The URL for stores of applications. */
  readonly storeUrl: string;
  readonly port: number;
  /** Runs the command in a process that all commands of a file share; {@link runSluice} has one for each. */
  sluice(...args: readonly string[]): Promise<Ran>;
  /** The value that the command prints with --json. Throws when the command fails. */
  json(...args: readonly string[]): Promise<unknown>;
  /** The path of a new file with this text. */
  file(text: string, path: string): string;
}

/** The first line of docs/reference/cli.md after these words that creates the user of the command. */
export function documentedUser(after = ''): string[] {
  const text = readFileSync(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8');
  const line = /^ACL SETUSER (\S+ on >\S+ .*)$/m.exec(text.slice(text.indexOf(after)))?.[1];
  if (line === undefined) throw new Error('docs/reference/cli.md names no rights');
  return line.split(' ');
}

export function useCli(args: readonly string[] = []): Cli {
  const redis = useRedis(args);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
  const [name = '', , password = ''] = documentedUser();
  let host: Host | undefined;
  beforeAll(async () => {
    await redis.admin.call('ACL', 'SETUSER', ...documentedUser());
  });
  afterAll(async () => {
    await host?.end();
    rmSync(folder, { recursive: true, force: true });
  });
  const urlOf = (): string => `redis://${name}:${password.slice(1)}@127.0.0.1:${String(redis.server.port)}`;
  const sluice = (...given: readonly string[]): Promise<Ran> => {
    requireBuild();
    return (host ??= new Host({ SLUICE_REDIS: urlOf() })).run(given);
  };
  return {
    get admin() {
      return redis.admin;
    },
    get url() {
      return urlOf();
    },
    get storeUrl() {
      return redis.server.url;
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
    file(text, path) {
      writeFileSync(join(folder, path), text);
      return join(folder, path);
    },
  };
}

/** Every key of the server with its bytes and its expiry. */
export async function contents(admin: Redis): Promise<readonly string[]> {
  const keys = (await admin.keys('*')).sort();
  return Promise.all(
    keys.map(async (key) => {
      const isHash = (await admin.type(key)) === 'hash';
      const content = isHash ? await fieldsOf(admin, key) : (await admin.dumpBuffer(key)).toString('hex');
      return `${key} ${content} ${String(await admin.pexpiretime(key))}`;
    }),
  );
}

/** A hash as text: a dump of it has the order of its table, which a server changes at any time. */
async function fieldsOf(admin: Redis, key: string): Promise<string> {
  return JSON.stringify(Object.entries(await admin.hgetall(key)).sort(([a], [b]) => (a < b ? -1 : 1)));
}
