import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, rateLimit, type HeadersOption } from '@sluice/express';
import { fakeClock } from '@sluice/testkit';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 1, window: '60s' });

describe.each(frameworks)('the option headers on $version', ({ express }) => {
  const answersWith = async (headers: HeadersOption | undefined) => {
    const app = express();
    app.use(
      rateLimit({ policy, store: memoryStore({ clock: fakeClock() }), ...(headers === undefined ? {} : { headers }) }),
      (_request, response) => {
        response.end();
      },
    );
    return [await request(app).get('/'), await request(app).get('/')] as const;
  };
  const limiterFields = (answer: request.Response) =>
    Object.fromEntries(
      Object.entries(answer.headers as Record<string, string>).filter(([name]) => name.includes('ratelimit')),
    );

  it.each<[string, HeadersOption | undefined, Record<string, string>]>([
    ['undefined', undefined, { 'ratelimit-policy': '"default";q=1;w=60', ratelimit: '"default";r=0;t=60' }],
    ['"draft-11"', 'draft-11', { 'ratelimit-policy': '"default";q=1;w=60', ratelimit: '"default";r=0;t=60' }],
    ['"draft-7"', 'draft-7', { 'ratelimit-policy': '1;w=60', ratelimit: 'limit=1, remaining=0, reset=60' }],
    [
      '"draft-6"',
      'draft-6',
      { 'ratelimit-limit': '1', 'ratelimit-remaining': '0', 'ratelimit-reset': '60', 'ratelimit-policy': '1;w=60' },
    ],
    [
      '{ legacy: "epoch" }',
      { legacy: 'epoch' },
      { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1795262461' },
    ],
    [
      '{ legacy: "delta" }',
      { legacy: 'delta' },
      { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' },
    ],
    [
      '["draft-11", { legacy: "delta" }]',
      ['draft-11', { legacy: 'delta' }],
      {
        'ratelimit-policy': '"default";q=1;w=60',
        ratelimit: '"default";r=0;t=60',
        'x-ratelimit-limit': '1',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': '60',
      },
    ],
    ['false', false, {}],
  ])('%s writes just these fields, allowed or refused', async (_written, headers, expected) => {
    const [allowed, refused] = await answersWith(headers);

    expect(allowed.status).toBe(200);
    expect(limiterFields(allowed)).toEqual(expected);
    expect(refused.status).toBe(429);
    expect(limiterFields(refused)).toEqual(expected);
  });

  it('false leaves Retry-After and Cache-Control on a refusal', async () => {
    const [, refused] = await answersWith(false);

    expect(refused.headers).toMatchObject({ 'retry-after': '60', 'cache-control': 'no-store' });
  });
});
