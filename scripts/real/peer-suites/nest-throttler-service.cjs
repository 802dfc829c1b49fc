// In the place of throttler.service.ts of @nestjs/throttler: its storage in memory, or in Redis.
const { randomUUID } = require('node:crypto');
const { NestStorage } = require('@sluice/compat/stores');
const { memoryStore, redisStore } = require('@sluice/core');

const { SUITE_REDIS } = process.env;

exports.ThrottlerStorageService = class ThrottlerStorageService extends NestStorage {
  constructor() {
    const inRedis = SUITE_REDIS !== undefined;
    // A storage of its own for each application, as the peer's is.
    super({
      store: inRedis ? redisStore(SUITE_REDIS, { prefix: 'sluice' }) : memoryStore({ clock: Date }),
      name: `t${randomUUID()}`,
      timeoutMs: 10_000,
    });
  }
};
