require('reflect-metadata');
const { Controller, Get, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { RateLimitModule } = require('@sluice/nestjs');
const { register } = require('prom-client');
const { collectMetrics } = require('@sluice/core/metrics');

async function main() {
  const { metricsCount, threeRequests } = await import('./limited.mjs');
  collectMetrics();
  class AppController {
    get() {
      return 'ok';
    }
  }
  // Decorators without their syntax, which Node.js does not have.
  Get()(AppController.prototype, 'get', Object.getOwnPropertyDescriptor(AppController.prototype, 'get'));
  Controller()(AppController);
  class AppModule {}
  Module({ imports: [RateLimitModule.forRoot({ limit: 2, window: '1m' })], controllers: [AppController] })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  await threeRequests(app.getHttpServer().address().port);
  await metricsCount(register);
  process.exit(0);
}
main().catch((error) => {
  console.error(error);
  process.exit(1);
});
