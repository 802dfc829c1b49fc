import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';

const script = fileURLToPath(new URL('../../../children/ends.mjs', import.meta.url));
const redis = useRedis();

/** Runs a process through the built package until it ends by itself. */
async function run(...args: readonly string[]): Promise<{ said: string; code: number | null }> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stdout.on('data', (text: Buffer) => (said += text.toString()));
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { said, code };
}

/** The URL of a server that takes connections and says nothing. */
async function silentServer(): Promise<{ url: string; close(): void }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `redis://127.0.0.1:${String((server.address() as AddressInfo).port)}`, close: () => server.close() };
}

describe('a process with a store for a URL', () => {
  it('ends once its limiter is closed', async () => {
    expect(await run(redis.server.storeUrl, '10000')).toEqual({ said: 'redis\n', code: 0 });
  });

  it('ends when no server listens there, and nothing is thrown unseen', async () => {
    expect(await run('redis://127.0.0.1:1', '10000')).toEqual({ said: 'local\n', code: 0 });
  });

  it('ends when the server takes the connection and never answers', async () => {
    const { url, close } = await silentServer();

    expect(await run(url, '100')).toEqual({ said: 'local\n', code: 0 });
    close();
  });

  it('ends without being closed when the store was never used', async () => {
    expect(await run(redis.server.storeUrl)).toEqual({ said: '', code: 0 });
    expect(await run('redis://127.0.0.1:1')).toEqual({ said: '', code: 0 });
    const { url, close } = await silentServer();
    expect(await run(url)).toEqual({ said: '', code: 0 });
    close();
  });
});
