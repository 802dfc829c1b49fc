// In the place of LocalStore.js of @fastify/rate-limit: its store in memory.
const { fastifyStore } = require('@sluice/compat/stores');
const { memoryStore } = require('@sluice/core');

module.exports = function LocalStore(continueExceeding, exponentialBackoff) {
  // The suite's fake clocks are those of Date.
  const Store = fastifyStore({ store: memoryStore({ clock: Date }) });
  return new Store({ continueExceeding, exponentialBackoff });
};
