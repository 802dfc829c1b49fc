import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { fromNode, rateLimit } from '@sluice/web';
import { BODY, fieldsByHand, listening, sluiceOptions } from './settings.mjs';

const hello = () => globalThis.Response.json(BODY);

const handlers = {
  bare: () => hello,
  'by hand': () => {
    const write = fieldsByHand();
    return () => {
      const response = hello();
      write((name, value) => response.headers.set(name, value));
      return response;
    };
  },
  sluice: (redisUrl) => rateLimit({ ...sluiceOptions(redisUrl), address: fromNode }).handle(hello),
};

export async function serve({ contender, redisUrl }) {
  const handler = handlers[contender](redisUrl);
  return listening(createServer(getRequestListener(handler)).listen(0, '127.0.0.1'));
}
