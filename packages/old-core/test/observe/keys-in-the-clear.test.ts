import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { inspect } from 'node:util';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  redisStore,
  slidingWindow,
  StoreError,
  type SingleLimiterOptions,
  type Store,
  type StoreFailureKind,
} from '@sluice/old-core';
import { collectMetrics } from '@sluice/old-core/metrics';
import { reportToOpenTelemetry } from '@sluice/old-core/opentelemetry';
import { connectTo, startRedis, until, type RedisServer } from '@sluice/testkit';
import { useChannels } from './use-channels.ts';

/** Keys as they come in practice and worse, each with a unique part, so that even a cut key is found. */
const KEYS: Readonly<Record<string, string>> = {
  '203.0.113.77': '203.0.113',
  '2001:db8:77::/64': '2001:db8',
  'ann.lee@example.com': 'ann.lee',
  'session=c2VjcmV0LXRva2Vu': 'c2Vjcm',
  'two\nlines-and-a\ttab': 'lines-and-a',
  [`just-short-enough-${'x'.repeat(256)}`.slice(0, 256)]: 'just-short',
  [`long-${'key-of-a-client-'.repeat(40)}`]: 'key-of-a',
  '{in-braces}': 'in-braces',
  'half{open-brace': 'open-brace',
  'with "quotes" and spaces': 'quotes',
  '#looks-like-a-hash': 'looks-like',
  'Käthe von Gönn': 'Käthe',
};
const TELLTALES = Object.values(KEYS);

const published = useChannels((limiter) => SCENES.some(({ name }) => limiter === name));
const register = new Registry();
const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
const meterProvider = new MeterProvider({ readers: [reader] });
const spans = new InMemorySpanExporter();
const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const warnings: unknown[][] = [];
const thrown: Error[] = [];
const stops: (() => void)[] = [];
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  stops.push(collectMetrics({ register }), reportToOpenTelemetry({ meterProvider }));
});
beforeEach(() => {
  jest.spyOn(process, 'emitWarning').mockImplementation((...warning) => void warnings.push(warning));
});
afterEach(() => {
  jest.restoreAllMocks();
  warnings.length = thrown.length = 0;
});
afterAll(async () => {
  for (const stop of stops) stop();
  context.disable();
  await Promise.all([meterProvider.shutdown(), tracing.shutdown()]);
});

/** Everything that has been published or thrown, as text, except the cause of an error. */
const everythingTold = async (): Promise<string> => {
  await reader.forceFlush();
  return [
    JSON.stringify(published),
    inspect(published, { depth: Infinity, showHidden: true, maxArrayLength: null }),
    await register.metrics(),
    JSON.stringify(metricExporter.getMetrics()),
    JSON.stringify(spans.getFinishedSpans().map(({ attributes, events, status }) => ({ attributes, events, status }))),
    ...warnings.flat().map((part) => (typeof part === 'string' ? part : inspect(part))),
    ...thrown.flatMap(({ message, stack }) => [message, stack ?? '']),
  ].join('\n');
};
const leaks = async (): Promise<string[]> => {
  const told = await everythingTold();
  return TELLTALES.filter((telltale) => told.includes(telltale));
};

type Options = Pick<SingleLimiterOptions, 'store' | 'onStoreError' | 'timeoutMs'>;

/** One limiter with a key, and one with two. */
const limitersOf = (name: string, options: Options) => ({
  single: createLimiter({ ...options, name, policy: slidingWindow({ limit: 1, window: '1h' }) }),
  several: createLimiter({
    ...options,
    name: `${name}.both`,
    limits: [
      { name: 'per-client', policy: fixedWindow({ limit: 1, window: '1h' }) },
      { name: 'per-user', policy: fixedWindow({ limit: 1, window: '1h' }) },
    ],
  }),
});

async function consumeAll(name: string, store: Store): Promise<void> {
  const { single, several } = limitersOf(name, { store });
  for (const key of Object.keys(KEYS)) {
    await single.consume(key);
    await several.consume({ 'per-client': key, 'per-user': key });
  }
  await Promise.all([single.close(), several.close()]);
}

/** Every call of a limiter, with every key, in a span. */
async function traffic(name: string, options: Options): Promise<void> {
  const { single, several } = limitersOf(name, options);
  const note = (error: unknown): void => void thrown.push(error as Error);
  const span = tracing.getTracer('test').startSpan('request');
  await context.with(trace.setSpan(context.active(), span), async () => {
    for (const key of Object.keys(KEYS)) {
      const decision = await single.consume(key).catch(note);
      await single.consume(key).catch(note);
      await single.peek(key).catch(note);
      if (decision !== undefined) await single.refund(decision).catch(note);
      await single.block(key, '1m').catch(note);
      await single.unblock(key).catch(note);
      await single.reset(key).catch(note);
      await several.consume({ 'per-client': 'one', 'per-user': key }).catch(note);
      await several.consume({ 'per-client': key, 'per-user': key }).catch(note);
    }
  });
  span.end();
  await Promise.all([single.close(), several.close()]);
}

describe('no key is disclosed', () => {
  it('by a memory store', async () => {
    await traffic('memory', { store: memoryStore() });

    expect(published.decisions.length).toBeGreaterThan(0);
    expect(await leaks()).toEqual([]);
  });

  it('by a memory store that is full of keys being denied', async () => {
    const store = memoryStore({ maxKeys: 2 });
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1h' }), store });
    for (const key of Object.keys(KEYS)) for (let i = 0; i < 3; i++) await limiter.consume(key);

    expect(warnings.map(([, options]) => (options as { code: string }).code)).toContain('SLUICE_MEMORY_SATURATED');
    expect(await leaks()).toEqual([]);
  });

  it('by the error of a call that cannot be meant', async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1h' }) });
    for (const key of Object.keys(KEYS)) {
      await limiter.consume(key, -1).catch((error: unknown) => thrown.push(error as Error));
      await limiter.consume([key] as unknown as string).catch((error: unknown) => thrown.push(error as Error));
      await limiter.refund({ ...(await limiter.peek(key)) }).catch((error: unknown) => thrown.push(error as Error));
    }

    expect(thrown).toHaveLength(3 * TELLTALES.length);
    expect(await leaks()).toEqual([]);
  });
});

interface Scene {
  readonly name: string;
  readonly kind: StoreFailureKind | undefined;
  /** Whether some of the calls succeed, so that no breaker opens. */
  readonly inPart?: boolean;
  /** Arguments of the server. */
  readonly args?: readonly string[];
  readonly prefix?: string;
  readonly timeoutMs?: number;
  readonly spoil?: (server: RedisServer, admin: Redis) => unknown;
}

const SCENES: readonly Scene[] = [
  { name: 'is-well', kind: undefined, inPart: true },
  { name: 'is-killed', kind: 'connection', spoil: (server) => server.kill() },
  {
    name: 'hangs',
    kind: 'timeout',
    timeoutMs: 5,
    spoil: (server) => {
      server.pause();
    },
  },
  {
    name: 'is-out-of-memory',
    kind: 'oom',
    inPart: true,
    spoil: (_, admin) => admin.config('SET', 'maxmemory', '1'),
  },
  { name: 'is-a-replica', kind: 'readonly', spoil: (_, admin) => admin.call('REPLICAOF', '127.0.0.1', '1') },
  {
    name: 'forbids-the-command',
    kind: 'denied',
    spoil: (_, admin) => admin.call('ACL', 'SETUSER', 'sluice', '-evalsha', '-eval'),
  },
  {
    name: 'forbids-the-keys',
    kind: 'denied',
    spoil: (_, admin) => admin.call('ACL', 'SETUSER', 'sluice', 'resetkeys', '~elsewhere:*'),
  },
  {
    name: 'forbids-what-the-script-does',
    kind: 'denied',
    spoil: (_, admin) => admin.call('ACL', 'SETUSER', 'sluice', '-set', '-del'),
  },
  {
    name: 'has-other-keys',
    kind: 'key',
    inPart: true,
    spoil: async (_, admin) => {
      await consumeAll('has-other-keys', redisStore(admin, { prefix: 'sluice' }));
      for (const key of await admin.keys('*')) await admin.multi().del(key).rpush(key, 'a').exec();
    },
  },
  // It returns what it was sent, cut off after 128 characters: two keys, or a long prefix and a part of one.
  { name: 'knows-no-scripts', kind: 'other', args: ['--rename-command', 'evalsha', 'noevalsha'] },
  {
    name: 'knows-no-scripts-at-all',
    kind: 'other',
    prefix: 'p'.repeat(64),
    args: ['--rename-command', 'evalsha', 'noevalsha'],
  },
];

describe.each(SCENES)('no key is disclosed by a Redis that $name', (scene) => {
  const { name, kind, inPart = false, args = [], prefix = 'sluice', timeoutMs = 60_000, spoil } = scene;
  let server: RedisServer;
  let client: Redis;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis(args);
    client = connectTo(args.length > 0 ? server.url : server.storeUrl, { enableOfflineQueue: false });
    admin = connectTo(server.url);
    await until('connections are open', () => client.status === 'ready' && admin.status === 'ready');
    await spoil?.(server, admin);
    if (name === 'is-killed') await until('the client has noticed', () => client.status !== 'ready');
  });
  afterAll(async () => {
    client.disconnect();
    admin.disconnect();
    await server.stop();
  });

  it('in errors', async () => {
    await traffic(name, { store: redisStore(client, { prefix, breaker: false }), onStoreError: 'throw', timeoutMs });

    expect([...new Set(published.storeErrors.map((error) => error.kind))]).toEqual(kind === undefined ? [] : [kind]);
    expect(thrown.some((error) => error instanceof StoreError)).toBe(kind !== undefined);
    expect(await leaks()).toEqual([]);
  });

  it('when it is given up', async () => {
    await traffic(name, { store: redisStore(client, { prefix }), onStoreError: 'local', timeoutMs });

    const codes = warnings.map(([, options]) => (options as { code: string }).code);
    expect(codes).toEqual(inPart ? [] : ['SLUICE_STORE_AWAY']);
    expect(published.breakers.length > 0).toBe(!inPart);
    expect(published.decisions.some(({ decision }) => decision.source === 'local')).toBe(kind !== undefined);
    expect(await leaks()).toEqual([]);
  });
});

describe('what is disclosed', () => {
  it('is where these tests look: a server that quotes what it was sent puts keys into the cause', async () => {
    const server = await startRedis(['--rename-command', 'evalsha', 'noevalsha']);
    const client = connectTo(server.url);

    await traffic('cause', {
      store: redisStore(client, { prefix: 'sluice' }),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });
    client.disconnect();
    await server.stop();

    expect(inspect(thrown[0]?.cause)).toContain('203.0.113');
  });
});
