/** The frameworks that code can be shown for. */
export interface Framework {
  readonly id: string;
  readonly title: string;
  /** The packages to install. */
  readonly packages: readonly string[];
  /** The name of the file in which the code runs. */
  readonly file: string;
}

export const FRAMEWORKS = [
  { id: 'express', title: 'Express', packages: ['express', '@sluice/express'], file: 'server.mjs' },
  { id: 'fastify', title: 'Fastify', packages: ['fastify', '@sluice/fastify'], file: 'server.mjs' },
  { id: 'koa', title: 'Koa', packages: ['koa', '@sluice/koa'], file: 'server.mjs' },
  { id: 'nestjs', title: 'NestJS', packages: ['@sluice/nestjs'], file: 'src/main.ts' },
  { id: 'fetch', title: 'Fetch', packages: ['@sluice/web', '@hono/node-server'], file: 'server.mjs' },
  { id: 'hono', title: 'Hono', packages: ['hono', '@hono/node-server', '@sluice/web'], file: 'server.mjs' },
  { id: 'core', title: 'Core', packages: ['@sluice/core'], file: 'server.mjs' },
] as const satisfies readonly Framework[];

export type FrameworkId = (typeof FRAMEWORKS)[number]['id'];
