import { describeExample, startBehindProxy } from '@sluice/example-contract';
import { describe, expect, it } from '@jest/globals';

const main = new URL('../dist/main.js', import.meta.url);

describeExample('fastify', main);

describe('a report that is denied', () => {
  it('uses up no request of the service', async () => {
    const example = await startBehindProxy(main);
    const client = example.newClient();
    await client.statuses(20, '/report');

    expect((await client.get('/')).body).toMatchObject({ left: 60 - 3 - 1 });
    await example.close();
  });
});
