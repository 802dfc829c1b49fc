import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@sluice/testkit';

const SCRIPT = fileURLToPath(new URL('replica.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/index.js', import.meta.url));

export interface ReplicaOptions {
  readonly redis: string;
  readonly timeoutMs: number;
}

/** A service in a process of its own, which ends and is started again on its ports. */
export class Replica {
  readonly grpc: number;
  readonly http: number;
  readonly #options: ReplicaOptions;
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'sluice-replica-'));
  #child: ChildProcess | undefined;

  private constructor(options: ReplicaOptions, grpc: number, http: number) {
    this.#options = options;
    this.grpc = grpc;
    this.http = http;
  }

  /** @param yaml - The file of limits. */
  static async start(yaml: string, options: ReplicaOptions): Promise<Replica> {
    if (!existsSync(BUILT))
      throw new Error('packages/server/dist is missing: run `npm run build` first (npm test does)');
    const replica = new Replica(options, await freePort(), await freePort());
    writeFileSync(join(replica.#folder, 'limits.yaml'), yaml);
    await replica.startAgain();
    return replica;
  }

  async startAgain(): Promise<void> {
    const { grpc, http } = this;
    const options = { ...this.#options, grpc, http, config: join(this.#folder, 'limits.yaml'), delayMs: 300 };
    const child = spawn(process.execPath, [SCRIPT, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    const exited = once(child, 'exit').then(() => Promise.reject(new Error('the replica has ended')));
    exited.catch(() => undefined);
    await Promise.race([once(child.stdout, 'data'), exited]);
  }

  /** Returns its exit code, or the signal that ended it. */
  async end(signal: NodeJS.Signals): Promise<unknown> {
    const child = this.#child as ChildProcess;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? child.signalCode;
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code, by] = (await exited) as [number | null, string | null];
    return code ?? by;
  }

  async remove(): Promise<void> {
    await this.end('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
