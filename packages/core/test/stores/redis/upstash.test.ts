// The client of Upstash sends HTTP. There is no service of theirs here: a small front of ours, which speaks their REST over
// a real Redis, stands for it.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import * as jest from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { Redis } from '@upstash/redis';
import { redisStore } from '../../../src/index.ts';
import { describeStore } from '../../../src/testing/index.ts';

const { afterAll, beforeAll } = jest;

const redis = useRedis();
let front: Server;
let client: Redis;
beforeAll(async () => {
  front = createServer((request, response) => {
    void (async () => {
      const given = (await json(request)) as Command | Command[];
      const isBase64 = request.headers['upstash-encoding'] === 'base64';
      const told =
        request.url === '/pipeline'
          ? await Promise.all((given as Command[]).map((one) => tell(one, isBase64)))
          : await tell(given as Command, isBase64);
      response.end(JSON.stringify(told));
    })();
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  const url = `http://127.0.0.1:${String((front.address() as AddressInfo).port)}`;
  client = new Redis({ url, token: 'none', enableTelemetry: false });
});
afterAll(() => {
  front.closeAllConnections();
  front.close();
});

type Command = [string, ...(string | number)[]];

async function tell([command, ...args]: Command, isBase64: boolean): Promise<{ result: unknown } | { error: string }> {
  try {
    const result = await redis.admin.call(command, ...args);
    return { result: isBase64 && typeof result === 'string' ? Buffer.from(result).toString('base64') : result };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

describeStore('in Upstash', () => redisStore(client, { prefix: 'shop' }), jest);
