import { describe, expect, it } from '@jest/globals';
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express, { type RequestHandler } from 'express';
import fastify from 'fastify';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import Koa from 'koa';
import { createLimiter, fixedWindow } from '@sluice/core';
import { page, type PageHandler } from '@sluice/page';
import type { KeyState } from '../src/key-actions.ts';
import { closing, findPort, pageWith, TOKEN } from './serve-page.ts';

/** Serves a page at `/limits`, and `hello` elsewhere. Resolves to the port. */
const FRAMEWORKS: Readonly<Record<string, (path?: string) => Promise<number>>> = {
  Express: () => findPort(express().use('/limits', pageWith()).use(hello)),
  'Express with a parser of bodies': () =>
    findPort(express().use(express.json()).use('/limits', pageWith()).use(hello)),
  'Express with the option path': () =>
    findPort(
      express()
        .use(pageWith({ path: '/limits' }) as RequestHandler)
        .use(hello),
    ),
  Koa: () => {
    const app = new Koa();
    app.use(pageWith({ path: '/limits' }) as Koa.Middleware);
    app.use((context) => {
      context.body = 'hello';
    });
    const handle = app.callback();
    return findPort((request, response) => {
      void handle(request, response);
    });
  },
  Fastify: async () => {
    const app = closing(fastify());
    await app.register(pageWith(), { prefix: '/limits' });
    app.get('/', () => 'hello');
    app.get('/limitsmore', () => 'hello');
    await app.listen({ port: 0, host: '127.0.0.1' });
    return (app.server.address() as AddressInfo).port;
  },
  NestJS: async () => {
    @Module({})
    class App {
      readonly name = 'app';
    }
    const app = closing(await NestFactory.create<NestExpressApplication>(App, { logger: false } as never));
    app.use('/limits', pageWith());
    app.use(hello);
    await app.listen(0, '127.0.0.1');
    return ((app.getHttpServer() as { address(): unknown }).address() as AddressInfo).port;
  },
  'node:http': () => {
    const made = pageWith();
    return findPort((request, response) => {
      if (request.url === '/limitsmore' || request.url?.startsWith('/limits') !== true) response.end('hello');
      else void made(request, response);
    });
  },
  'a fetch handler': () => {
    const made: PageHandler = pageWith({ path: '/limits' });
    return findPort((request, response) => {
      void (async () => {
        const chunks = (await request.toArray()) as Buffer[];
        const init = { method: request.method ?? 'GET', headers: request.headers as Record<string, string> };
        const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
        const answer = await made(new Request(`http://localhost${request.url ?? ''}`, { ...init, ...body }));
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        response.end(answer.status === 404 ? 'hello' : await answer.text());
      })();
    });
  },
};

function hello(_request: unknown, response: { end(text: string): unknown }): void {
  response.end('hello');
}

/** Those in which nothing of the application reads bodies before the page. */
const UNREAD = Object.entries(FRAMEWORKS).filter(
  ([name]) => name !== 'Express with a parser of bodies' && name !== 'a fetch handler',
);

it.each(UNREAD)('%s asks for the token although no byte of the body has come', async (_name, serve) => {
  const client = connect(await serve(), '127.0.0.1').on('error', () => undefined);
  const received = once(client, 'data');
  const fields = 'Host: localhost\r\nContent-Type: application/json\r\nX-Sluice-Page: 1\r\nContent-Length: 8388608';
  client.write(`POST /limits/block HTTP/1.1\r\n${fields}\r\n\r\n`);
  const [first] = (await received) as [Buffer];
  client.destroy();

  expect(first.toString()).toMatch(/^HTTP\/1\.1 401 /);
});

describe.each(Object.entries(FRAMEWORKS))('%s', (_name, serve) => {
  const authorization = `Bearer ${TOKEN}`;

  it('serves the page at its path, and nothing elsewhere', async () => {
    const at = `http://127.0.0.1:${String(await serve())}`;
    const get = (path: string): Promise<Response> =>
      fetch(at + path, { headers: { authorization }, redirect: 'manual' });

    const redirected = await get('/limits');
    const served = await get('/limits/');

    expect([redirected.status, redirected.headers.get('location')]).toEqual([307, './limits/']);
    expect([served.status, await served.text()]).toEqual([200, expect.stringMatching(/^<!doctype html>/)]);
    expect((await fetch(`${at}/limits/`)).status).toBe(401);
    for (const path of ['/', '/limitsmore']) expect(await (await get(path)).text()).toContain('hello');
  });

  it('reads JSON, and answers with it', async () => {
    const limiter = closing(createLimiter({ name: 'api', policy: fixedWindow({ limit: 5, window: '1h' }) }));
    await limiter.consume('ann', 3);
    const at = `http://127.0.0.1:${String(await serve())}/limits/`;
    const post = async (name: string, body: unknown): Promise<Response> =>
      fetch(at + name, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', 'x-sluice-page': '1' },
        body: JSON.stringify(body),
      });

    const [state] = (await (await post('key', { key: 'ann' })).json()) as readonly KeyState[];
    const blocked = await post('block', { id: state?.id, duration: '1h', reason: 'r', by: 'ops' });

    expect(state?.policies[0]?.used).toBe(3);
    expect([blocked.status, await blocked.json()]).toEqual([200, expect.objectContaining({ outcome: 'blocked' })]);
    expect((await limiter.peek('ann')).outcome).toBe('blocked');
  });
});

it('writes nothing to a response that the application has sent meanwhile', async () => {
  const slow = page({ authorize: () => new Promise<boolean>((resolve) => setTimeout(resolve, 50, true)) });
  closing(() => slow.close());
  let answering: Promise<unknown> | undefined;
  const port = await findPort((request, response) => {
    answering = slow(request, response);
    response.writeHead(503).end('late');
  });

  const response = await fetch(`http://127.0.0.1:${String(port)}/limits/`);

  expect([response.status, await response.text()]).toEqual([503, 'late']);
  await expect(answering).resolves.toBeUndefined();
});
