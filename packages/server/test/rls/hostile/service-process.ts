import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a process takes, in MiB. */
export interface Memory {
  readonly rss: number;
  /** Of what is in use: the heap, and buffers beside it. */
  readonly used: number;
}

/** A service in a process of its own. */
export interface ServiceProcess {
  /** The port of its listener of gRPC. */
  readonly grpc: number;
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
  const child = fork(SCRIPT, [config], { execArgv: ['--expose-gc'] });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  const ended = exited.then((how): never => {
    throw new Error(`the service has ended with ${String(how)}`);
  });
  ended.catch(() => undefined);
  const next = async (): Promise<unknown> => ((await Promise.race([once(child, 'message'), ended])) as [unknown])[0];
  const grpc = (await next()) as string;
  return {
    grpc: Number(grpc.split(':').at(-1)),
    async memory() {
      child.send('memory');
      return (await next()) as Memory;
    },
    async close() {
      if (child.connected) child.disconnect();
      const [code, signal] = await exited;
      rmSync(folder, { recursive: true });
      return code ?? signal ?? 'nothing';
    },
  };
}
