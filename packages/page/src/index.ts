import { makeHandler, type PageHandler } from './frameworks.ts';
import { readPageOptions, type PageOptions } from './options.ts';
import { Page } from './page.ts';

export type { PageHandler } from './frameworks.ts';
export type { LimiterOption } from './limits.ts';
export type { Authorized } from './operators.ts';
export type { PageOptions } from './options.ts';

/**
 * A page for operators: which keys are denied, what a key has left, blocks, and overrides for one key. It shows what
 * this process has decided since the call. Nothing changes by GET, and every change is logged with who made it and why.
 *
 * @throws PolicyError `SLUICE_OPTION_INVALID`, `SLUICE_OPTION_UNKNOWN`: also if neither `token` nor `authorize` is given.
 *
 * @example
 * ```ts
 * app.use('/limits', page({ token: process.env.LIMITS_TOKEN })); // Express, NestJS
 * app.use(page({ token, path: '/limits' })); // Koa
 * await app.register(page({ token }), { prefix: '/limits' }); // Fastify
 * ```
 */
export function page<Request = never>(options: PageOptions<Request>): PageHandler {
  const settings = readPageOptions(options);
  const made = new Page(settings);
  return makeHandler(
    (request) => made.answer(request),
    () => made.close(),
    settings.path,
  );
}
