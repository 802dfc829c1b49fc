import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { SentinelService } from './sentinel-service.ts';

/** What Sentinel's Java client 1.8.9 sends, and is answered: `npm run real sentinel` proves it true. */
interface Trace {
  readonly client: string;
  readonly server: string;
}

const [trace, limits] = ['trace.json', 'limits.yaml'].map((name) =>
  readFileSync(new URL(`trace/${name}`, import.meta.url), 'utf8'),
) as [string, string];
const { client, server } = JSON.parse(trace) as Trace;

/** Sends a text of bytes, piece by piece, and resolves with as many bytes of answers as are expected. */
async function replayed(port: number, pieces: readonly Buffer[]): Promise<string> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  await once(socket, 'connect');
  let received = '';
  const isWhole = new Promise<void>((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('hex');
      if (received.length >= server.length) resolve();
    });
  });
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise(setImmediate);
  }
  await isWhole;
  socket.destroy();
  return received;
}

describe("the bytes of Sentinel's own client", () => {
  it.each([
    ['at once', Infinity],
    ['byte by byte', 1],
  ])('are answered as it was answered, sent %s', async (_how, size) => {
    const service = await SentinelService.start(limits);
    const bytes = Buffer.from(client, 'hex');
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));

    expect(await replayed(service.port, pieces)).toBe(server);
    await service.close();
  });
});
