import { describe, expect, it } from '@jest/globals';
import { consulAgents, consulTrace } from '@sluice/testkit';
import { readFileSync, writeFileSync } from 'node:fs';

/** Written by the real Consul that `npm run real -- consul --record` runs. */
const RECORDED = new URL('../fixtures/consul-1.14.json', import.meta.url);

describe.each(consulAgents())('%s', (name, start) => {
  it('answers what Consul 1.14 was recorded to answer', async () => {
    const agent = await start();
    const trace = await consulTrace(agent.address);
    await agent.close();
    if (name === 'a real Consul' && process.env['SLUICE_RECORD'] === '1') {
      writeFileSync(RECORDED, `${JSON.stringify(trace, undefined, 2)}\n`);
    }

    expect(trace).toEqual(JSON.parse(readFileSync(RECORDED, 'utf8')));
  });
});
