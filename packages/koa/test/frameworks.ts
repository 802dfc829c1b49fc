import Koa3 from 'koa';
// @ts-expect-error -- under its alias it has no types: what these tests use of it has those of Koa 3
import Koa2 from 'koa-2';

/** What `@sluice/koa` promises to work on: every suite runs on each. */
export const frameworks = [
  { version: 'Koa 3', Koa: Koa3 },
  { version: 'Koa 2', Koa: Koa2 as typeof Koa3 },
];
