import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { spawnTied } from './program.ts';
import { until } from './until.ts';

/** An example, started by the command in its README. */
export class ExampleProcess {
  readonly #child;
  #hasEnded = false;
  stdout = '';
  stderr = '';

  constructor(main: URL, env: Readonly<Record<string, string>>, args: readonly string[] = []) {
    const inherited = { ...process.env, HOST: '127.0.0.1', PORT: '0', REDIS_URL: '' };
    this.#child = spawnTied(process.execPath, [fileURLToPath(main), ...args], { env: { ...inherited, ...env } });
    this.#child.on('close', () => (this.#hasEnded = true));
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
    await until(`it prints ${text}`, () => this.#hasEnded || this.stdout.includes(text));
    if (!this.stdout.includes(text)) throw new Error(`ended without printing ${text}:\n${this.stdout}${this.stderr}`);
  }

  stop(): void {
    this.#child.kill('SIGTERM');
  }

  /** How it ended: the exit code, or the signal that ended it. */
  async ends(): Promise<number | NodeJS.Signals | null> {
    await until('it ends', () => this.#hasEnded);
    return this.#child.exitCode ?? this.#child.signalCode;
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
