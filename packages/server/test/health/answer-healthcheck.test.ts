import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { answerHealthcheck } from '../../src/health/answer-healthcheck.ts';
import { Health } from '../../src/health/health.ts';

describe('GET /healthcheck', () => {
  const health = new Health();
  let server: Server;
  let url: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      answerHealthcheck(health, request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/healthcheck`;
  });
  afterAll(() => {
    server.close();
  });

  it('is 200 and OK while the service takes requests, and 500 otherwise', async () => {
    expect((await fetch(url)).status).toBe(500);
    health.isServing = true;
    const response = await fetch(url);

    expect([response.status, await response.text()]).toEqual([200, 'OK']);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  });

  it('is 405 for other methods', async () => {
    const response = await fetch(url, { method: 'POST', body: 'x' });

    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});
