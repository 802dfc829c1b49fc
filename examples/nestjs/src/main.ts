import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.ts';

const { HOST = '127.0.0.1', PORT = '3000', REDIS_URL = '' } = process.env;

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: ['error', 'warn'] });
// The address of the proxy: X-Forwarded-For is trusted from it alone. Never `true`.
app.set('trust proxy', '127.0.0.1');
await app.listen(Number(PORT), HOST);
const url = await app.getUrl();
console.log(`Listening on ${url}, with the limits in ${REDIS_URL === '' ? 'memory' : 'Redis'}. Try:
  curl -si '${url}/report?[1-4]'
  curl -si '${url}/login?[1-6]' -H 'Content-Type: application/json' -d '{"user":"ann","password":"guess"}'`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    console.log('Stopping.');
    void app.close(); // answers pending requests, and closes the store; then the process ends
  });
}
