import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { SentinelClient } from './sentinel-client.ts';
import { serveSentinel } from './sentinel-service.ts';

/** What Sentinel's Java client 1.8.9 sends, and is answered: `npm run real sentinel` proves it true. */
interface Trace {
  readonly client: string;
  readonly server: string;
}

const [trace, limits] = ['trace.json', 'limits.yaml'].map((name) =>
  readFileSync(new URL(`trace/${name}`, import.meta.url), 'utf8'),
) as [string, string];
const { client, server } = JSON.parse(trace) as Trace;

describe("the bytes of Sentinel's own client", () => {
  it.each([
    ['at once', Infinity],
    ['byte by byte', 1],
  ])('are answered as it was answered, sent %s', async (_how, size) => {
    const service = await serveSentinel(limits);
    const bytes = Buffer.from(client, 'hex');
    const replayed = await SentinelClient.connect(service);
    replayed.socket.setNoDelay(true);
    for (let at = 0; at < bytes.length; at += size) {
      replayed.socket.write(bytes.subarray(at, at + size));
      await new Promise(setImmediate);
    }
    await until('all is answered', () => replayed.received.length >= server.length / 2);
    await service.close();

    expect(replayed.received.toString('hex')).toBe(server);
  });
});
