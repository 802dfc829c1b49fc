import { describeRedisClient } from '@sluice/testkit';

describeRedisClient('made for a URL', {
  ours: true,
  connect: ({ url }) => ({ client: url, close: () => undefined }),
});
