import { expect, it } from '@jest/globals';
import sluice, { byAll, leakyBucket, memoryStore } from '@sluice/fastify';
import Fastify from 'fastify';

it('an application that closes lets those start that rest, each at its time', async () => {
  const app = Fastify();
  const waits: number[] = [];
  let decided = 0;
  let allDecided = (): void => {};
  const decisions = new Promise<void>((resolve) => (allDecided = resolve));
  await app.register(sluice, {
    policy: leakyBucket({ limit: 10, window: '1s', maxDelay: '1s' }),
    key: byAll(),
    store: memoryStore({ clock: { now: () => 0 } }),
    onDecision: () => {
      if (++decided === 3) allDecided();
    },
  });
  app.get('/', (request) => {
    waits.push(performance.now() - Number(request.headers['x-sent']));
    return 'hello';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const visit = async (): Promise<number> => {
    const headers = { 'x-sent': String(performance.now()), connection: 'close' };
    return (await fetch(`http://127.0.0.1:${String(port)}/`, { headers })).status;
  };
  const answers = [visit(), visit(), visit()];
  await decisions;

  await app.close();
  const statuses = await Promise.all(answers);

  expect(statuses).toEqual([200, 200, 200]);
  expect(waits).toHaveLength(3);
  expect(waits[1]).toBeGreaterThanOrEqual(100);
  expect(waits[2]).toBeGreaterThanOrEqual(200);
});
