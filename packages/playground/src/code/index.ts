import type { Scenario } from '../scenario.ts';
import { coreCode } from './core.ts';
import { FRAMEWORKS, type Framework, type FrameworkId } from './frameworks.ts';
import { adapterImports, adapterProperties } from './options.ts';
import { object } from './write.ts';

export { FRAMEWORKS, type Framework };

/** A program for each framework, in which every route is limited. */
const PROGRAMS: Readonly<Record<FrameworkId, (scenario: Scenario) => string>> = {
  express: (scenario) => `import express from 'express';
${imported('@sluice/express', ['rateLimit', ...adapterImports(scenario)])}

const limits = rateLimit(${options(scenario)});
const app = express();
app.use(limits);
app.get('/', (request, response) => response.send('hello\\n'));
app.listen(3000);
`,
  fastify: (scenario) => `import Fastify from 'fastify';
${imported('@sluice/fastify', adapterImports(scenario), 'sluice')}

const app = Fastify();
await app.register(sluice, ${options(scenario)});
app.get('/', () => 'hello\\n');
await app.listen({ port: 3000 });
`,
  koa: (scenario) => `import Koa from 'koa';
${imported('@sluice/koa', ['rateLimit', ...adapterImports(scenario)])}

const limits = rateLimit(${options(scenario)});
const app = new Koa();
app.use(limits);
app.use((ctx) => {
  ctx.body = 'hello\\n';
});
app.listen(3000);
`,
  nestjs: (scenario) => `import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
${imported('@sluice/nestjs', ['RateLimitModule', ...adapterImports(scenario)])}

@Controller()
class Hello {
  @Get()
  hello() {
    return 'hello\\n';
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot(${options(scenario, 4)}),
  ],
  controllers: [Hello],
})
class AppModule {}

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  await app.listen(3000);
}
void bootstrap();
`,
  fetch: (scenario) => `import { serve } from '@hono/node-server';
${imported('@sluice/web', ['fromNode', 'rateLimit', ...adapterImports(scenario)])}

const limits = rateLimit(${options(scenario, 0, 'address: fromNode')});
const fetch = limits.handle(() => new Response('hello\\n'));
serve({ fetch, port: 3000 });
`,
  hono: (scenario) => `import { serve } from '@hono/node-server';
import { Hono } from 'hono';
${imported('@sluice/web/hono', ['fromNode', 'rateLimit', ...adapterImports(scenario)])}

const limits = rateLimit(${options(scenario, 0, 'address: fromNode')});
const app = new Hono();
app.use(limits);
app.get('/', (c) => c.text('hello\\n'));
serve({ fetch: app.fetch, port: 3000 });
`,
  core: coreCode,
};

/** A program that limits as the scenario does; empty for a framework that is not known. */
export function codeOf(scenario: Scenario): string {
  const { framework } = scenario;
  return FRAMEWORKS.some(({ id }) => id === framework) ? PROGRAMS[framework as FrameworkId](scenario) : '';
}

/** Always in several lines: options are what a reader changes. */
function options(scenario: Scenario, indent = 0, first?: string): string {
  const properties = adapterProperties(scenario, indent + 2);
  return object([...(first === undefined ? [] : [first]), ...properties], indent, Infinity);
}

function imported(from: string, names: readonly string[], itself?: string): string {
  const sorted = [...new Set(names)].sort((a, b) => a.localeCompare(b));
  const own = itself === undefined ? '' : `${itself}, `;
  return `import ${own}${object(sorted, 0, `import ${own} from '${from}';`.length)} from '${from}';`;
}
