import { describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { fixedWindow } from '../../../src/policies/fixed-window.ts';
import { redisStore } from '../../../src/stores/redis/redis-store.ts';

const redis = useRedis();

describe('a store', () => {
  it('decides', async () => {
    const store = redisStore(redis.server.storeUrl, { prefix: 'sluice' });
    const policy = fixedWindow({ limit: 5, window: '1m' });
    const ask = { key: '{ann}:default', policy, cost: 1 };
    await store.ready();

    const answers = await Promise.all(Array.from({ length: 7 }, () => store.perform('take', [ask])));
    console.log(answers);
    console.log(await store.perform('take', [ask]));
    console.log(await store.perform('take', [ask]));
    console.log(await store.perform('give', [ask]));
    console.log(await store.perform('take', [ask]));
    console.log(await redis.admin.keys('*'), await redis.admin.get('sluice:{ann}:default'));
    expect(answers).toHaveLength(7);
    await store.close();
  });
});
