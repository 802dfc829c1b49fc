import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A client in Python: see client.py. */
export interface PythonClient {
  /** Sends a line, without waiting. */
  send(line: unknown): void;
  /** The next line that it prints. */
  next(): Promise<unknown>;
  /** Sends a line, and returns what it prints. */
  ask(line: unknown): Promise<unknown>;
  /** Ends it, and returns the lines that it has printed and that were not read. */
  close(): Promise<readonly unknown[]>;
}

export type Command = 'ask' | 'json' | 'check' | 'watch';

const SCRIPT = fileURLToPath(new URL('client.py', import.meta.url));

export function startPython(port: number, command: Command): PythonClient {
  const child = spawn(pythonWithGrpc(), ['-B', SCRIPT, String(port), command], { stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  child.stdin.on('error', () => undefined); // it may have ended
  const exited = once(child, 'exit');
  const lines: AsyncIterator<string, undefined> = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (line: unknown): void => {
    child.stdin.write(`${JSON.stringify(line)}\n`);
  };
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the client in Python has ended:\n${errors}`);
    return JSON.parse(value) as unknown;
  };
  return {
    send,
    next,
    ask(line) {
      send(line);
      return next();
    },
    async close() {
      child.stdin.end();
      const rest: unknown[] = [];
      for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
        rest.push(JSON.parse(line.value));
      }
      const [code] = (await exited) as [number | null];
      if (code !== 0) throw new Error(`the client in Python failed:\n${errors}`);
      return rest;
    },
  };
}

/** The one that scripts/setup/test-tools.mjs has found or installed. */
function pythonWithGrpc(): string {
  const named = process.env['PYTHON'] ?? '';
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = named === '' ? ['/usr/bin/python3', ...folders.map((folder) => join(folder, 'python3'))] : [named];
  const found = candidates.find((path) => spawnSync(path, ['-c', 'import grpc, google.protobuf']).status === 0);
  if (found === undefined)
    throw new Error('no Python with gRPC: run `node scripts/setup/test-tools.mjs`, or set PYTHON');
  return found;
}
