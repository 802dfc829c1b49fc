// A server of one framework with one limiter, or none.
import { answer } from '../processes/answer.mjs';

answer(async ({ framework, contender, redisUrl }) => {
  const { serve } = await import(`../servers/${framework}.mjs`);
  const { port, close } = await serve({ contender, redisUrl });
  return {
    about: { port, node: process.versions.node },
    usage: () => {
      const { user, system } = process.cpuUsage();
      return { cpuUs: user + system };
    },
    close,
  };
});
