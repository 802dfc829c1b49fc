import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { RateLimitModule, fixedWindow, type Decision, type NestRequest, type NestResponse } from '@sluice/nestjs';
import { platforms, serve, type Platform, type Served } from './serve.ts';

type OnDenied = (request: NestRequest, response: NestResponse, decision: Decision) => unknown;

@Controller()
class Pages {
  @Get('page')
  page() {
    return 'a page';
  }
}

describe.each(platforms)('onDenied on %s', (platform) => {
  let served: Served | undefined;
  afterEach(() => served?.close());

  const deniedBy = async (onDenied: OnDenied): Promise<Response> => {
    served = await serveWith(platform, onDenied);
    await served.fetch('/page');
    return served.fetch('/page', { signal: AbortSignal.timeout(60_000) });
  };

  it('may answer a value, as handlers of Nest do: an object is sent as JSON, with the status that is set', async () => {
    const denied = await deniedBy((_request, response, { policy }) => {
      response.status(503);
      return { slow: policy };
    });

    expect(denied.status).toBe(503);
    expect(denied.headers.get('content-type')).toMatch(/^application\/json/);
    expect(denied.headers.get('retry-after')).toBe('3600');
    expect(await denied.json()).toEqual({ slow: 'default' });
  });

  it.each<[string, unknown, string]>([
    ['a text', 'slow down', 'slow down'],
    ['a number', 42, '42'],
  ])('may answer %s, also later', async (_what, value, body) => {
    const denied = await deniedBy(() => Promise.resolve(value));

    expect(denied.status).toBe(429);
    expect(await denied.text()).toBe(body);
  });

  it('has what it answers ignored once it has sent something itself', async () => {
    const denied = await deniedBy((_request, response) => {
      response.status(503).send('sent');
      return 'answered';
    });

    expect(denied.status).toBe(503);
    expect(await denied.text()).toBe('sent');
  });

  it('may pipe into Node’s own response, which pipe() answers', async () => {
    const denied = await deniedBy((_request, response) => Readable.from(['piped']).pipe(nodeResponseOf(response)));

    expect(denied.status).toBe(429);
    expect(await denied.text()).toBe('piped');
  });

  it.each<[string, unknown, string, RegExp]>([
    ['an object', { slow: true }, '{"slow":true}', /^application\/json/],
    ['a list', [1, 2], '[1,2]', /^application\/json/],
    ['a text', 'slow down', 'slow down', /^text\//],
    ['bytes', Buffer.from('slow down'), 'slow down', /^application\/octet-stream/],
  ])('may send %s', async (_what, value, body, type) => {
    const denied = await deniedBy((_request, response) => response.status(503).header('x-why', 'limit').send(value));

    expect(denied.status).toBe(503);
    expect(denied.headers.get('x-why')).toBe('limit');
    expect(denied.headers.get('content-type')).toMatch(type);
    expect(await denied.text()).toBe(body);
  });

  it('keeps the type that it has set itself', async () => {
    const denied = await deniedBy((_request, response) =>
      response.header('content-type', 'application/vnd.slow+json').send({ slow: true }),
    );

    expect(denied.headers.get('content-type')).toMatch(/^application\/vnd\.slow\+json/);
    expect(await denied.json()).toEqual({ slow: true });
  });
});

/** On Express the response is Node's own. */
function nodeResponseOf(response: NestResponse & { readonly raw?: unknown }): NodeJS.WritableStream {
  return (response.raw ?? response) as unknown as NodeJS.WritableStream;
}

async function serveWith(platform: Platform, onDenied: OnDenied): Promise<Served> {
  const policy = fixedWindow({ limit: 1, window: '1h' });
  return serve(platform, { imports: [RateLimitModule.forRoot({ policy, onDenied })], controllers: [Pages] });
}
