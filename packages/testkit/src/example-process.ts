import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';

const DEADLINE_MS = 60_000;

/** An example, started by the command in its README. */
export class ExampleProcess {
  readonly #child;
  readonly #exited: Promise<unknown>;
  stdout = '';
  stderr = '';

  constructor(main: URL, env: Readonly<Record<string, string>>, args: readonly string[] = []) {
    const inherited = { ...process.env, HOST: '127.0.0.1', PORT: '0', REDIS_URL: '' };
    const options = { env: { ...inherited, ...env }, stdio: 'pipe' } as const;
    this.#child = spawn(process.execPath, [fileURLToPath(main), ...args], options);
    this.#exited = once(this.#child, 'close');
    this.#child.stdout.on('data', (data: Buffer) => (this.stdout += data.toString()));
    this.#child.stderr.on('data', (data: Buffer) => (this.stderr += data.toString()));
  }

  /** Waits until it listens. Resolves to the port. */
  async listens(): Promise<number> {
    await this.prints('curl');
    const [, port] = /^Listening on http:\/\/127\.0\.0\.1:(\d+)/m.exec(this.stdout) ?? [];
    return Number(port);
  }

  /** Waits for a text in its output. */
  async prints(text: string): Promise<void> {
    while (!this.stdout.includes(text)) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null)
        throw new Error(`ended without printing ${text}:\n${this.stdout}${this.stderr}`);
      await this.#inTime(Promise.race([once(this.#child.stdout, 'data'), this.#exited]));
    }
  }

  stop(): void {
    this.#child.kill('SIGTERM');
  }

  /** How it ended: the exit code, or the signal that ended it. */
  async ends(): Promise<number | NodeJS.Signals | null> {
    await this.#inTime(this.#exited);
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  async #inTime(event: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        this.#child.kill('SIGKILL');
        reject(new Error(`nothing came in time; so far:\n${this.stdout}${this.stderr}`));
      }, DEADLINE_MS);
    });
    await Promise.race([event, late]).finally(() => {
      clearTimeout(timer);
    });
  }
}

/** Starts an example, uses it at the URL that it prints, and expects it to end by itself when stopped. */
export async function useExample(
  main: URL,
  use: (url: string, example: ExampleProcess) => Promise<unknown>,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const example = new ExampleProcess(main, env);
  await use(`http://127.0.0.1:${String(await example.listens())}`, example);
  example.stop();
  expect(await example.ends()).toBe(0);
}

/** Posts JSON. */
export async function postJson(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  init: RequestInit = {},
): Promise<Response> {
  const sent = { 'content-type': 'application/json', ...headers };
  return fetch(url, { ...init, method: 'POST', headers: sent, body: JSON.stringify(body) });
}
