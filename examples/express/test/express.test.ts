import { expect, it } from '@jest/globals';
import { describeExample, ExampleClient, ExampleProcess } from '@sluice/testkit';

const main = new URL('../dist/main.js', import.meta.url);

describeExample(main);

it('consumes one request of the service for a report that is denied', async () => {
  const example = new ExampleProcess(main, {});
  const client = new ExampleClient(await example.listens());
  await client.statuses(20, '/report');

  expect((await client.get('/')).body).toMatchObject({ left: 60 - 20 - 1 });
  example.stop();
  expect(await example.ends()).toBe(0);
});
