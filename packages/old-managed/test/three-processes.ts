import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** How a process hears of changes, in children/consume.mjs. */
export type Hears = 'both' | 'notifications' | 'polling';

/** What a process saw. */
export interface NodeView {
  readonly registryCalls: number;
  /** The limits that decisions showed, in order: each with the first and the last instant of it. */
  readonly limits: readonly (readonly [limit: number, fromMs: number, toMs: number])[];
  /** By the instant of its end. */
  readonly windows: Readonly<Record<string, { readonly allowed: number; readonly limits: readonly number[] }>>;
}

export interface Consumer {
  /** Stops it, and returns what it saw. */
  stop(): Promise<NodeView>;
  /** Ends it in whatever state it is. */
  kill(): void;
}

const SCRIPT = fileURLToPath(new URL('children/consume.mjs', import.meta.url));

/** Starts a process that consumes, and waits until it has had its first decision. */
export async function startConsumer(url: string, hears: Hears, perSecond: number): Promise<Consumer> {
  const child: ChildProcess = spawn(process.execPath, [SCRIPT, url, hears, String(perSecond)], { stdio: 'pipe' });
  let errors = '';
  child.stderr?.on('data', (text: Buffer) => (errors += text.toString()));
  const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => {
    const line = (await lines.next()) as IteratorResult<string, undefined>;
    if (line.done === true) throw new Error(`a child process ended early:\n${errors}`);
    return line.value;
  };
  if ((await nextLine()) !== 'ready') throw new Error('a child process was not ready');
  return {
    async stop() {
      child.stdin?.write('stop\n');
      return JSON.parse(await nextLine()) as NodeView;
    },
    kill: () => {
      child.kill('SIGKILL');
    },
  };
}
