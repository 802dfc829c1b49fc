import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startTcpProxy, type RedisServer, type TcpProxy } from '@sluice/testkit';

const SCRIPT = fileURLToPath(new URL('frame-service.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/index.js', import.meta.url));

/** A service for remoteStore in a process of its own, behind a proxy; it is killed, and started again on its port. */
export class FrameService {
  readonly #redis: RedisServer;
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'sluice-frames-'));
  readonly #port: number;
  #child: ChildProcess | undefined;
  #proxy: TcpProxy | undefined;

  constructor(redis: RedisServer, port: number) {
    this.#redis = redis;
    this.#port = port;
  }

  get proxy(): TcpProxy {
    return this.#proxy as TcpProxy;
  }

  async start(): Promise<void> {
    if (!existsSync(BUILT))
      throw new Error('packages/server/dist is missing: run `npm run build` first (npm test does)');
    writeFileSync(join(this.#folder, 'limits.yaml'), 'limits: {}\n');
    const args = [SCRIPT, join(this.#folder, 'limits.yaml'), this.#redis.storeUrl, String(this.#port)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    this.#proxy ??= await startTcpProxy({ host: '127.0.0.1', port: this.#port });
  }

  async kill(): Promise<void> {
    const child = this.#child as ChildProcess;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Stops it (SIGSTOP): its connections stay open. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async end(): Promise<void> {
    this.#proxy?.close();
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
