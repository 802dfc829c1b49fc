// In the place of ioredis: a client of the row's own server, whose port is a free one.
const { Redis } = require(process.env.SUITE_IOREDIS);

module.exports = class extends Redis {
  constructor(options) {
    super({ ...options, port: Number(process.env.SUITE_REDIS_PORT) });
  }
};
