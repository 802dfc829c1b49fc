import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** What a process takes, in MiB. */
export interface Memory {
  readonly rss: number;
  /** Of what is in use: the heap, and buffers beside it. */
  readonly used: number;
}

/** A service in a process of its own. */
export interface ServiceProcess {
  readonly grpc: number;
  readonly http: number;
  /** Collects garbage, and measures. */
  memory(): Promise<Memory>;
  /** Its status of exit, or the signal that ended it. */
  close(): Promise<number | string>;
}

const SCRIPT = fileURLToPath(new URL('service.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../../../dist/index.js', import.meta.url));

export async function startServiceProcess(yaml: string): Promise<ServiceProcess> {
  if (!existsSync(BUILT)) throw new Error('packages/server/dist is missing: run `npm run build` first (npm test does)');
  const folder = mkdtempSync(join(tmpdir(), 'sluice-hostile-'));
  const config = join(folder, 'limits.yaml');
  writeFileSync(config, yaml);
  const child = spawn(process.execPath, ['--expose-gc', SCRIPT, config], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined); // it may have ended
  let errors = '';
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  const lines: AsyncIterator<string, undefined> = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the service has ended:\n${errors}`);
    return JSON.parse(value) as unknown;
  };
  const addresses = (await next()) as Readonly<Record<'grpc' | 'http', string>>;
  const findPort = (address: string): number => Number(address.split(':').at(-1));
  return {
    grpc: findPort(addresses.grpc),
    http: findPort(addresses.http),
    async memory() {
      child.stdin.write('memory\n');
      return (await next()) as Memory;
    },
    async close() {
      child.stdin.end();
      const [code, signal] = await exited;
      rmSync(folder, { recursive: true });
      return code ?? signal ?? 'nothing';
    },
  };
}
