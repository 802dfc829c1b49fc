import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import sluice from '@sluice/fastify';
import type { FastifyServerOptions } from 'fastify';
import { answersOf, closeAfterEach, create } from './requests.ts';

let warned: string[];

beforeEach(() => {
  warned = [];
  jest.spyOn(process, 'emitWarning').mockImplementation((_message, options) => {
    warned.push((options as { code: string }).code);
  });
});
afterEach(() => {
  jest.restoreAllMocks();
});
closeAfterEach();

it.each([
  ['names proxies', '127.0.0.1', []],
  ['is false', false, []],
  ['is true', true, ['SLUICE_PROXY_TRUSTS_ALL']],
  ['is a number, which Fastify ignores', 1, []],
])('warns of trustProxy if it %s: %p', async (_what, trustProxy, codes: string[]) => {
  const app = create({ trustProxy } as FastifyServerOptions);
  await app.register(sluice, { limit: 5, window: '1m' });

  await answersOf(app, '/', '/');

  expect(warned).toEqual(codes);
});
