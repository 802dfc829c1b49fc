// A server of one framework with one limiter, or none.
import { answer } from '../processes/answer.mjs';
import { limitTo } from '../servers/settings.mjs';

answer(async ({ framework, contender, redisUrl, proxy, limit }) => {
  limitTo(limit);
  const { serve } = await import(`../servers/${framework}.mjs`);
  const { port, close } = await serve({ contender, redisUrl, proxy });
  return {
    about: { port, node: process.versions.node },
    usage: () => {
      const { user, system } = process.cpuUsage();
      return { cpuUs: user + system };
    },
    close,
  };
});
