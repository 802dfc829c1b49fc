import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { testEnforcer, type TestRequest } from '@sluice/testkit';

const policy = fixedWindow({ limit: 1, window: '1h' });
const asks = { origin: 'https://a.example', 'access-control-request-method': 'POST' };

async function counts(request: TestRequest): Promise<boolean> {
  const enforce = testEnforcer({ policy, preflights: 'skip' });
  await enforce({ method: 'OPTIONS', ...request });
  return (await enforce({ method: 'OPTIONS', ...request })).denial !== undefined;
}

describe('an OPTIONS request, where preflights are skipped,', () => {
  it.each<[string, TestRequest]>([
    ['a preflight', { headers: asks }],
    ['a preflight that says it has no body', { headers: { ...asks, 'content-length': '0' } }],
    ['a preflight over HTTP/2', { headers: asks, stream: { endAfterHeaders: true } }],
  ])('is free as %s', async (_what, request) => {
    expect(await counts(request)).toBe(false);
  });

  it.each<[string, TestRequest]>([
    ['no origin', { headers: { 'access-control-request-method': 'POST' } }],
    ['no method that it asks for', { headers: { origin: 'https://a.example' } }],
    ['another method', { method: 'POST', headers: asks }],
    ['a body', { headers: { ...asks, 'content-length': '5' } }],
    ['a body in chunks', { headers: { ...asks, 'transfer-encoding': 'chunked' } }],
    ['a body over HTTP/2, which needs no length', { headers: asks, stream: { endAfterHeaders: false } }],
    ['a type of body', { headers: { ...asks, 'content-type': 'application/json' } }],
    ['credentials', { headers: { ...asks, authorization: 'Bearer a' } }],
    ['cookies', { headers: { ...asks, cookie: 'a=b' } }],
  ])('counts with %s', async (_what, request) => {
    expect(await counts(request)).toBe(true);
  });
});
