import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/core';
import { flow } from './frames.ts';
import { SentinelService, limitsOf } from './sentinel-service.ts';

describe('a listener of Sentinel that ends', () => {
  it('ends its connections at once, so that clients connect to another', async () => {
    const service = await SentinelService.start(limitsOf([{ flowId: 101, count: 5 }]), memoryStore());
    const client = await service.connect();
    await client.ask(flow(1, 101));
    const ended = once(client.socket, 'end');

    await service.leave(60_000);

    await ended;
    expect(client.answers).toHaveLength(1);
    await service.close();
  });
});
