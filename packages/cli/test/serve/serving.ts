import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, type ClientHttp2Session, type SecureClientSessionOptions } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import { until } from '@sluice/testkit';
import { startSluice, type Ran } from '../sluice.ts';

const NOWHERE = '0';

/** `sluice serve` in a process of its own. */
export interface Serving {
  readonly pid: number;
  /** Where each listener accepts connections, as the ready line says. */
  readonly addresses: Readonly<Record<string, string>>;
  /** What it has printed. */
  readonly printed: { readonly out: string; readonly err: string };
  kill(signal: NodeJS.Signals): void;
  /** The exit code. */
  readonly ended: Promise<number | null>;
}

export interface ServeOptions {
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts services that end with the test, and files that are removed with it. */
export function useServe(): {
  /** Starts it with ports of its own, and resolves when it is ready. */
  serve(args: readonly string[], options?: ServeOptions): Promise<Serving>;
  /** Starts it, and resolves when it has ended. */
  run(args: readonly string[], options?: ServeOptions): Promise<Ran>;
  /** The path of a file with this text. */
  file(text: string, name?: string): string;
  readonly folder: string;
} {
  const children = new Set<ReturnType<typeof startSluice>>();
  let folder: string | undefined;
  afterEach(async () => {
    const open = [...children].filter(({ child }) => child.exitCode === null && child.signalCode === null);
    for (const { child } of open) child.kill('SIGKILL');
    await Promise.all([...children].map(({ ended }) => ended));
    children.clear();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    folder = undefined;
  });
  const started = (args: readonly string[], { env = {} }: ServeOptions = {}): ReturnType<typeof startSluice> => {
    const one = startSluice(['serve', ...args], env);
    children.add(one);
    return one;
  };
  const inFolder = (): string => (folder ??= mkdtempSync(join(tmpdir(), 'sluice-serve-')));
  return {
    get folder() {
      return inFolder();
    },
    file(text, name = 'limits.yaml') {
      const path = join(inFolder(), name);
      writeFileSync(path, text);
      return path;
    },
    async serve(args, options) {
      const ports = ['grpc', 'http', 'admin'].filter((name) => !args.includes(`--${name}`));
      const { child, printed, ended } = started([...args, ...ports.flatMap((name) => [`--${name}`, NOWHERE])], options);
      const line = await until('it is ready', () => {
        if (child.exitCode !== null) throw new Error(`it has ended: ${printed.err}`);
        return /^sluice is ready: (.*)$/m.exec(printed.out)?.[1];
      });
      return {
        pid: child.pid ?? 0,
        addresses: Object.fromEntries(line.split(', ').map((one) => one.split(' '))) as Record<string, string>,
        printed,
        ended: ended.then(({ code }) => code),
        kill: (signal) => child.kill(signal),
      };
    },
    run: (args, options) => started(args, options).ended,
  };
}

/** Consumes a unit of a named limit. Returns whether it was allowed. */
export async function consume({ addresses }: Serving, limit: string, key = 'key'): Promise<boolean> {
  const { status, body } = await post(addresses['http'] ?? '', '/v1/consume', { keys: { [limit]: key } });
  if (status !== 200) throw new Error(`status ${String(status)}: ${body}`);
  return (JSON.parse(body) as { allowed: boolean }).allowed;
}

export async function post(
  address: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: string }> {
  const response = await fetch(`http://${address}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.text() };
}

export async function get(address: string, path: string): Promise<{ status: number; body: string }> {
  const response = await fetch(`http://${address}${path}`);
  return { status: response.status, body: await response.text() };
}

/** A connection to a gRPC listener, which asks for its health. */
export class HealthClient {
  readonly session: ClientHttp2Session;
  /** Whether it was told to leave. */
  isTold = false;

  constructor(url: string, options: SecureClientSessionOptions = {}) {
    this.session = connectHttp2(url, options);
    this.session.on('error', () => undefined);
    this.session.on('goaway', () => (this.isTold = true));
  }

  /** `SERVING`, `NOT_SERVING`, or why there is no answer. */
  async check(): Promise<string> {
    const stream = this.session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.end(Buffer.alloc(5));
    try {
      const chunks = await stream.toArray();
      return ['UNKNOWN', 'SERVING', 'NOT_SERVING'][Buffer.concat(chunks as Buffer[])[6] ?? 0] as string;
    } catch (error) {
      return (error as Error).message;
    }
  }
}
