import { redisStore } from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';
import { closing, describeSetUps, limiterForSetUp, useRedis } from '@sluice/testkit';

const redis = useRedis();
let made = 0;

describeSetUps({
  managed: async (policy) => {
    const name = `every-${String(made++)}`;
    const policies = closing(createPolicies(redis.admin, { prefix: 'sluice' }));
    await policies.put(name, policy, { apps: ['test'] });
    return limiterForSetUp({
      policy: managed(name),
      app: 'test',
      policies,
      store: redisStore(redis.client, { prefix: 'sluice' }),
    });
  },
});
