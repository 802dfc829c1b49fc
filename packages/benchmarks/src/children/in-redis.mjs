// Limiters in Redis, with a number of decisions in flight.
import { Cluster, Redis } from 'ioredis';
import { redisContenders } from '../contenders/redis.mjs';
import { closedLoop, warmUp } from '../measure/closed-loop.mjs';
import { keysOf, shapeOf, streamOf } from '../measure/shapes.mjs';
import { answer } from '../processes/answer.mjs';

/** Concurrent decisions before the measurement, to create every key. */
const AT_ONCE = 500;

answer(async ({ name, urls, cluster = false, policies = 1, who = 0, ...asked }) => {
  const shape = shapeOf(asked);
  const client = cluster ? new Cluster(urls.map(addressOf)) : new Redis(urls[0]);
  const contender = await redisContenders[name].make(client, { limit: shape.limit, policies });
  const next = streamOf(shape, who);
  return {
    /** Every key once, to use up those that must be denied; then until the code is compiled. */
    warm: async ({ ms, inFlight }) => {
      const keys = keysOf(shape);
      for (let i = 0; i < keys.length; i += AT_ONCE) {
        await Promise.all(keys.slice(i, i + AT_ONCE).map((key) => contender.consume(key)));
      }
      await warmUp(contender, next, { ms, inFlight });
    },
    /** For each of this many decisions for one key, one after the other: whether it was a denial. */
    denials: async ({ key, times }) => {
      const seen = [];
      for (let i = 0; i < times; i++) seen.push(contender.denies(await contender.consume(key)));
      return seen;
    },
    slice: (options) => closedLoop(contender, next, options),
    close: async () => {
      await contender.close?.();
      client.disconnect();
    },
  };
});

function addressOf(url) {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
