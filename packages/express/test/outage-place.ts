import {
  byHeader,
  rateLimit,
  redisStore,
  type BreakerOptions,
  type Decision,
  type RateLimitOptions,
} from '@sluice/express';
import { connectTo, listen, startRedis, startTcpProxy, until, type RedisServer, type TcpProxy } from '@sluice/testkit';
import express from 'express';
import type { Redis } from 'ioredis';
import { onError } from './on-error.ts';

/** Long enough for a busy machine, so that what is late is late because of the fault. */
export const TIMEOUT_MS = 500;
const BREAKER: BreakerOptions = { failures: 5, probeEveryMs: 50 };
/** Far above anything that a test waits for on purpose. */
const LONGEST_MS = 20_000;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Who decided. */
  readonly source: string | null;
  readonly body: string;
}

/**
 * An application with a store of its own, as if in a process of its own. Requests are counted by the key they carry.
 */
export interface App {
  send(key: string): Promise<Answer>;
  /** At once, so that they wait together. */
  sendMany(count: number, key: string): Promise<readonly Answer[]>;
  /** Requests whose decision is being waited for. */
  inFlight(): number;
  /** How its limiter's breaker is. */
  breaker(): string;
  closeLimiter(): Promise<void>;
}

/** A server that goes wrong, a proxy before it, and applications that count in it. */
export interface OutageSetup {
  readonly server: RedisServer;
  readonly proxy: TcpProxy;
  /** For the test itself; a connection past the proxy. */
  readonly admin: Redis;
  start(url: string, options: Partial<RateLimitOptions> & { readonly policy: Policy }): Promise<App>;
  end(): Promise<void>;
}

type Policy = Exclude<RateLimitOptions['policy'], undefined>;

export async function startPlace(): Promise<OutageSetup> {
  const server = await startRedis();
  const proxy = await startTcpProxy(server);
  const admin = connectTo(server.url);
  const ends: (() => Promise<void>)[] = [];
  return {
    server,
    proxy,
    admin,
    async start(url, options) {
      const limiter = rateLimit({
        name: 'outage',
        key: byHeader('x-key'),
        store: redisStore(url, { prefix: 'sluice', breaker: BREAKER }),
        timeoutMs: TIMEOUT_MS,
        denialCache: false, // every request is one for the store, denied ones too
        onDecision({ source }: Decision, { request }) {
          request.res?.set('X-Source', source);
        },
        ...options,
      } as RateLimitOptions);
      let inFlight = 0;
      const app = express()
        .use((_request, response, next) => {
          inFlight++;
          response.on('close', () => inFlight--);
          next();
        })
        .use(limiter)
        .get('/', (_request, response) => {
          response.end('passed');
        })
        .use(
          onError((error, _request, response) => {
            response.status(500).end((error as Error & { code?: string }).code);
          }),
        );
      const listening = await listen(app);
      ends.push(async () => {
        await limiter.limiter.close();
        await listening.close();
      });
      const send = async (key: string): Promise<Answer> => {
        const response = await fetch(`http://127.0.0.1:${String(listening.port)}/`, {
          headers: { 'X-Key': key },
          signal: AbortSignal.timeout(LONGEST_MS),
        });
        const { status, headers } = response;
        return { status, headers, source: headers.get('x-source'), body: await response.text() };
      };
      return {
        send,
        sendMany: async (count, key) => Promise.all(Array.from({ length: count }, async () => send(key))),
        inFlight: () => inFlight,
        breaker: () => limiter.limiter.status().breaker,
        closeLimiter: async () => limiter.limiter.close(),
      };
    },
    async end() {
      proxy.close(); // while its connections are whole: one that is closing already could not be reset
      admin.disconnect();
      await server.stop();
      await Promise.all(ends.map(async (end) => end()));
    },
  };
}

let looks = 0;
/** Waits until both applications count in Redis (again): each look under a key of its own. */
export async function untilShared(...apps: readonly App[]): Promise<void> {
  for (const app of apps) {
    await until('limits are shared', async () => (await app.send(`look-${String(looks++)}`)).source === 'redis');
  }
}

export function allowed(answers: readonly Answer[], source?: string): number {
  return answers.filter((answer) => answer.status === 200 && (source === undefined || answer.source === source)).length;
}
