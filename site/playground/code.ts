import { findMaker, readOptions, type PolicyChoice } from './policies.ts';
import type { Scenario } from './scenario.ts';
import { HEADER_CHOICES } from './shown.ts';

/** A framework that code can be shown for. */
export interface Framework {
  readonly id: string;
  readonly title: string;
  /** The packages to install. */
  readonly packages: readonly string[];
  /** What is imported before Sluice. */
  readonly imports: readonly string[];
  /** The Sluice package, and what is imported from it in addition to policies. */
  readonly from: string;
  readonly names: readonly string[];
  readonly itself?: string;
  /** @param options - The options of the limits, as an object. */
  readonly program: (options: string, scenario: Scenario) => string;
}

/** A program for each framework, in which every route is limited. */
export const FRAMEWORKS: readonly [Framework, ...Framework[]] = [
  {
    ...{ id: 'express', title: 'Express', packages: ['express', '@sluice/express'] },
    imports: ["import express from 'express';"],
    ...{ from: '@sluice/express', names: ['rateLimit'] },
    program: (options) => `const limits = rateLimit(${options});
const app = express();
app.use(limits);
app.get('/', (request, response) => response.send('hello\\n'));
app.listen(3000);
`,
  },
  {
    ...{ id: 'fastify', title: 'Fastify', packages: ['fastify', '@sluice/fastify'] },
    imports: ["import Fastify from 'fastify';"],
    ...{ from: '@sluice/fastify', names: [], itself: 'sluice' },
    program: (options) => `const app = Fastify();
await app.register(sluice, ${options});
app.get('/', () => 'hello\\n');
await app.listen({ port: 3000 });
`,
  },
  {
    ...{ id: 'koa', title: 'Koa', packages: ['koa', '@sluice/koa'] },
    imports: ["import Koa from 'koa';"],
    ...{ from: '@sluice/koa', names: ['rateLimit'] },
    program: (options) => `const limits = rateLimit(${options});
const app = new Koa();
app.use(limits);
app.use((ctx) => {
  ctx.body = 'hello\\n';
});
app.listen(3000);
`,
  },
  {
    ...{ id: 'nestjs', title: 'NestJS', packages: ['@sluice/nestjs'] },
    imports: [
      "import 'reflect-metadata';",
      "import { Controller, Get, Module } from '@nestjs/common';",
      "import { NestFactory } from '@nestjs/core';",
    ],
    ...{ from: '@sluice/nestjs', names: ['RateLimitModule'] },
    program: (options) => `const limits = RateLimitModule.forRoot(${options});

@Controller()
class Hello {
  @Get()
  hello() {
    return 'hello\\n';
  }
}

@Module({ imports: [limits], controllers: [Hello] })
class AppModule {}

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  await app.listen(3000);
}
void bootstrap();
`,
  },
  {
    ...{ id: 'fetch', title: 'Fetch', packages: ['@sluice/web', '@hono/node-server'] },
    imports: ["import { serve } from '@hono/node-server';"],
    ...{ from: '@sluice/web', names: ['fromNode', 'rateLimit'] },
    program: (options) => `const limits = rateLimit(${options});
const fetch = limits.handle(() => new Response('hello\\n'));
serve({ fetch, port: 3000 });
`,
  },
  {
    ...{ id: 'hono', title: 'Hono', packages: ['hono', '@hono/node-server', '@sluice/web'] },
    imports: ["import { serve } from '@hono/node-server';", "import { Hono } from 'hono';"],
    ...{ from: '@sluice/web/hono', names: ['fromNode', 'rateLimit'] },
    program: (options) => `const limits = rateLimit(${options});
const app = new Hono();
app.use(limits);
app.get('/', (c) => c.text('hello\\n'));
serve({ fetch: app.fetch, port: 3000 });
`,
  },
  {
    ...{ id: 'core', title: 'Core', packages: ['@sluice/core'] },
    imports: ["import { createServer } from 'node:http';"],
    ...{ from: '@sluice/core', names: ['createLimiter'] },
    program: writeServer,
  },
];

const KEYS = {
  ip: { name: undefined, code: undefined, core: "request.socket.remoteAddress ?? 'unknown';" }, // the default
  user: { name: 'byUser', code: 'byUser()', core: "String(request.headers['x-user']); // the user who has signed in" },
  'api-key': { name: 'byHeader', code: "byHeader('x-api-key')", core: "String(request.headers['x-api-key']);" },
  all: { name: 'byAll', code: 'byAll()', core: "'all';" },
} as const;

/** The limiter itself, in a server without a framework. */
function writeServer(options: string, { policies, key, traffic }: Scenario): string {
  const has = (kind: string): boolean => policies.some((policy) => policy.kind === kind);
  const cost = traffic.from === 'painted' && traffic.cost > 1 ? `, ${String(traffic.cost)}` : '';
  const decide = has('concurrency')
    ? `  const { decision, release } = await limiter.acquire(key${cost});
  response.once('close', () => void release());`
    : `  const decision = await limiter.consume(key${cost});`;
  const pace = '  await new Promise((go) => setTimeout(go, decision.delayMs));\n';
  return `const limiter = createLimiter(${options});

createServer(async (request, response) => {
  const key = ${KEYS[key].core}
${decide}
  if (!decision.allowed) {
    const { retryAfterMs } = decision;
    response.statusCode = 429;
    if (retryAfterMs !== null) {
      response.setHeader('Retry-After', Math.ceil(retryAfterMs / 1000));
    }
    response.end('Too many requests\\n');
    return;
  }
${has('leakyBucket') ? pace : ''}  response.end('hello\\n');
}).listen(3000);
`;
}

/** A program that limits as the scenario does. */
export function writeCode(scenario: Scenario): string {
  const { policies, store, key, headers, traffic } = scenario;
  const framework = FRAMEWORKS.find(({ id }) => id === scenario.framework) ?? FRAMEWORKS[0];
  const { id, names, from, itself } = framework;
  const isCore = id === 'core';
  const { name, code } = KEYS[key];
  const format = HEADER_CHOICES.find((choice) => choice.id === headers)?.format ?? 'draft-11';
  const [first] = policies;
  const options = [
    names.includes('fromNode') && 'address: fromNode',
    policies.length === 1 && first !== undefined
      ? `policy: ${writePolicy(first, 2, '  policy: '.length)}`
      : `policy: [\n${policies.map((policy) => `    ${writePolicy(policy, 4)},\n`).join('')}  ]`,
    !isCore && code !== undefined && `key: ${code}`,
    !isCore && traffic.from === 'painted' && traffic.cost > 1 && `cost: ${String(traffic.cost)}`,
    !isCore && format !== 'draft-11' && `headers: ${writeValue(format)}`,
    store === 'redis' && "store: redisStore('redis://localhost:6379', { prefix: 'shop' })",
  ].filter((option) => option !== false);
  const imported = new Set([
    ...names,
    ...policies.map(({ kind }) => findMaker(kind)),
    ...(store === 'redis' ? ['redisStore'] : []),
    ...(isCore || name === undefined ? [] : [name]),
  ]);
  const sorted = [...imported].sort((a, b) => a.localeCompare(b));
  const own = itself === undefined ? '' : `${itself}, `;
  const line = `import ${own}${writeObject(sorted, 0, `import ${own} from '${from}';`.length)} from '${from}';`;
  const install = `// npm install ${framework.packages.join(' ')}`;
  return [install, ...framework.imports, line, '', framework.program(writeObject(options, 0, Infinity), scenario)].join(
    '\n',
  );
}

/** @param column - The column of its first line, if that is not at the indent. */
function writePolicy(policy: PolicyChoice, indent: number, column = indent): string {
  const make = findMaker(policy.kind);
  const properties = Object.entries(readOptions(policy)).map(([name, value]) => `${name}: ${writeValue(value)}`);
  return `${make}(${writeObject(properties, indent, column + make.length + '(),'.length)})`;
}

function writeValue(value: string | number | { readonly legacy: string }): string {
  if (typeof value === 'object') return `{ legacy: '${value.legacy}' }`;
  if (typeof value === 'number') return String(value);
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** An object on one line if it fits, otherwise one line per property. */
function writeObject(properties: readonly string[], indent: number, taken: number): string {
  if (properties.length === 0) return '{}';
  const line = `{ ${properties.join(', ')} }`;
  if (!line.includes('\n') && taken + line.length <= 80) return line;
  const space = ' '.repeat(indent);
  return `{\n${properties.map((property) => `${space}  ${property},\n`).join('')}${space}}`;
}
