import { describeExample, startBehindProxy } from '@sluice/example-contract';
import { describe, expect, it } from '@jest/globals';

const main = new URL('../dist/main.js', import.meta.url);

describeExample('nestjs', main);

describe('a report that is denied', () => {
  it('consumes one request of the service', async () => {
    const example = await startBehindProxy(main);
    const client = example.newClient();
    await client.statuses(20, '/report');

    expect((await client.get('/')).body).toMatchObject({ left: 60 - 20 - 1 });
    await example.close();
  });
});
