// In the place of RedisStore.js of @fastify/rate-limit: its store in Redis.
const { fastifyStore } = require('@sluice/compat/stores');
const { redisStore } = require('@sluice/core');

module.exports = function RedisStore(continueExceeding, exponentialBackoff, redis, prefix = 'fastify-rate-limit-') {
  const Store = fastifyStore({ store: redisStore(redis, { prefix }), timeoutMs: 10_000 });
  return new Store({ continueExceeding, exponentialBackoff });
};
