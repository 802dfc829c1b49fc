import { expect, it } from '@jest/globals';
import { describeExample, ExampleClient, ExampleProcess } from '@sluice/testkit';

const main = new URL('../dist/main.js', import.meta.url);

describeExample(main);

it('uses up no request of the service for a report, allowed or denied', async () => {
  const example = new ExampleProcess(main, {});
  const client = new ExampleClient(await example.listens());
  await client.statuses(20, '/report');

  expect((await client.get('/')).body).toMatchObject({ left: 60 - 1 });
  example.stop();
  expect(await example.ends()).toBe(0);
});
