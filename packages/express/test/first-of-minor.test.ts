import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { concurrency, leakyBucket } from '@sluice/core';
import { describeAdapter, smoke } from '@sluice/testkit/contract';
import { adapterOf } from './adapter.ts';

const frozen = new URL('./first-of-minor/adapter.mjs', import.meta.url);
const adapter = (await import(frozen.href)) as typeof import('@sluice/express');
const { rateLimit } = adapter;

const minorOf = (version: string | undefined): string => (version ?? '').split('.').slice(0, 2).join('.');

describe('the first adapter of this minor version, on the core of today', () => {
  it('is the one of this minor version', () => {
    const [, version] = /^\/\/ @sluice\/express (\S+),/.exec(readFileSync(frozen, 'utf8')) ?? [];
    const now = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

    // Raised: npm run build && node scripts/build/freeze-adapter.mjs
    expect(minorOf(version)).toBe(minorOf(now.version));
  });

  it('gives back after the response, paces, holds slots, and decides without writing', async () => {
    const refunded = rateLimit({ name: 'refunded', limit: 1, window: '1h', refund: 'on-success' });
    const paced = rateLimit({ name: 'paced', policy: leakyBucket({ limit: 100, window: '1s', maxDelay: '1s' }) });
    const held = rateLimit({ name: 'held', policy: concurrency({ limit: 1, ttl: '1m' }) });
    const app = express();
    app.get('/', refunded, paced, held, (_req, res) => void res.send('done'));
    app.get('/enforced', async (req, res) => {
      const { denial, fields } = await rateLimit({ limit: 1, window: '1h' }).enforce(req, res);
      res.json({ denied: denial !== undefined, fields: fields.length });
    });

    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await request(app).get('/')).status);
    const enforced = await request(app).get('/enforced');

    expect(statuses).toEqual([200, 200, 200]);
    expect(enforced.body).toEqual({ denied: false, fields: 2 });
  });

  it('names the option that is wrong', () => {
    expect(() => rateLimit({ limt: 1, window: '1h' } as never)).toThrow('rateLimit has no option "limt"');
  });
});

describeAdapter(adapterOf({ version: 'Express 5, as the first one of this minor version', express }, adapter), smoke);
