// A server of the rate limit service, or of forward auth: ours, or what it is compared with.
import { answer } from '../processes/answer.mjs';

answer(async ({ server, redisUrl }) => {
  const { serve } = await import(`../servers/service/${server}.mjs`);
  const { port, close } = await serve({ redisUrl });
  return {
    about: { port, node: process.versions.node },
    usage: () => {
      const { user, system } = process.cpuUsage();
      return { cpuUs: user + system, rssMiB: process.memoryUsage.rss() / 1_048_576 };
    },
    close,
  };
});
