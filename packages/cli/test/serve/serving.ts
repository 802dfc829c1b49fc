import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until, useClosing } from '@sluice/testkit';
import { runHere, startSluice, type Ran } from '../sluice.ts';

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

/** Starts services that end with the test, and files that are removed with it. */
export function useServe(): {
  /** Starts it with ports of its own, and resolves when it is ready. */
  serve(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Serving>;
  /** Runs it in this process until it ends, as it does at once with a wrong option or file, or with `--check`. */
  run(args: readonly string[]): Promise<Ran>;
  /** The path of a file with this text. */
  file(text: string, name?: string): string;
  readonly folder: string;
} {
  const closing = useClosing();
  let folder: string | undefined;
  const inFolder = (): string => {
    if (folder !== undefined) return folder;
    const made = mkdtempSync(join(tmpdir(), 'sluice-serve-'));
    closing(() => {
      rmSync(made, { recursive: true, force: true });
      folder = undefined;
    });
    return (folder = made);
  };
  return {
    get folder() {
      return inFolder();
    },
    file(text, name = 'limits.yaml') {
      const path = join(inFolder(), name);
      writeFileSync(path, text);
      return path;
    },
    async serve(args, env) {
      const ports = ['grpc', 'http', 'admin'].filter((name) => !args.includes(`--${name}`));
      const listeners = ports.flatMap((name) => [`--${name}`, '0']);
      const { child, printed, ended } = startSluice(['serve', ...args, ...listeners], env);
      closing(async () => {
        child.kill('SIGKILL');
        await ended;
      });
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
    run: (args) => runHere(['serve', ...args]),
  };
}

/** Consumes a unit of a named limit. Returns whether it was allowed. */
export async function consume({ addresses }: Serving, limit: string, key = 'key'): Promise<boolean> {
  const response = await fetch(`http://${addresses['http'] ?? ''}/v1/consume`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ keys: { [limit]: key } }),
  });
  const answer = (await response.json()) as { allowed?: boolean };
  if (answer.allowed === undefined) throw new Error(JSON.stringify(answer));
  return answer.allowed;
}

export async function get(address: string, path: string): Promise<{ status: number; body: string }> {
  const response = await fetch(`http://${address}${path}`);
  return { status: response.status, body: await response.text() };
}
