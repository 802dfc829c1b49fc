import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { context, metrics, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '@sluice/old-core';
import { reportToOpenTelemetry } from '@sluice/old-core/opentelemetry';
import { expectWarnings, useRedis } from '@sluice/testkit';

expectWarnings('SLUICE_STORE_AWAY');

const redis = useRedis();
const policy = fixedWindow({ name: 'hourly', limit: 1, window: '1h' });
const away = (): Store => ({
  source: 'redis',
  breaker: { failures: 2 },
  perform: () => Promise.reject(new Error('away')),
});

const limiters: { close(): Promise<void> }[] = [];
const limiterOf = (options: Partial<LimiterOptions> = {}): Limiter => {
  const limiter = createLimiter({
    name: 'observed',
    policy,
    timeoutMs: 60_000,
    ...options,
  } as LimiterOptions) as Limiter;
  limiters.push(limiter);
  return limiter;
};

let exporter: InMemoryMetricExporter;
let reader: PeriodicExportingMetricReader;
let meterProvider: MeterProvider;
let stop: () => void;
beforeEach(() => {
  exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  meterProvider = new MeterProvider({ readers: [reader] });
  stop = reportToOpenTelemetry({ meterProvider });
});
afterEach(async () => {
  stop();
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
  await meterProvider.shutdown();
});

/** What is exported now, of one instrument. */
const exported = async (name: string): Promise<MetricData | undefined> => {
  exporter.reset();
  await reader.forceFlush();
  const [all] = exporter.getMetrics();
  return all?.scopeMetrics.flatMap((scope) => scope.metrics).find(({ descriptor }) => descriptor.name === name);
};
/** Of limiters of this file: those that ran in this process before may have left breakers open, whose probes go on. */
const points = async (name: string): Promise<unknown[]> =>
  (await exported(name))?.dataPoints
    .filter(({ attributes }) => attributes['sluice.limiter'] === 'observed')
    .map(({ attributes, value }) => ({ ...attributes, value })) ?? [];

describe('what is reported to OpenTelemetry', () => {
  it('is decisions by limiter, policy, outcome, and source; no peeks', async () => {
    const limiter = limiterOf();
    await limiter.peek('key');
    for (let i = 0; i < 3; i++) await limiter.consume('key');

    const observed = { 'sluice.limiter': 'observed', 'sluice.policy': 'hourly', 'sluice.source': 'memory' };
    expect(await points('sluice.decisions')).toEqual([
      { ...observed, 'sluice.outcome': 'allowed', value: 1 },
      { ...observed, 'sluice.outcome': 'denied', value: 2 },
    ]);
    expect((await exported('sluice.decisions'))?.descriptor.unit).toBe('{decision}');
  });

  it('is how long they took, in seconds, in buckets from 50 µs', async () => {
    const startMs = performance.now();
    await limiterOf().consume('key');
    const tookMs = performance.now() - startMs;

    const duration = await exported('sluice.decision.duration');

    expect(duration?.descriptor.unit).toBe('s');
    expect(duration?.dataPoints).toHaveLength(1);
    const [{ attributes, value } = { attributes: {}, value: {} }] = duration?.dataPoints ?? [];
    const { sum, count, buckets } = value as { sum: number; count: number; buckets: { boundaries: number[] } };
    expect(attributes).toEqual({ 'sluice.limiter': 'observed', 'sluice.source': 'memory' });
    expect(count).toBe(1);
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThanOrEqual(tookMs / 1000);
    expect(buckets.boundaries[0]).toBe(0.00005);
  });

  it('is a store that fails: by kind, its breaker, and its fallback', async () => {
    const limiter = limiterOf({ store: away() });
    for (let i = 0; i < 3; i++) await limiter.consume(`key ${String(i)}`);

    const observed = { 'sluice.limiter': 'observed' };
    expect(await points('sluice.store.errors')).toEqual([
      { ...observed, 'sluice.store': 'redis', 'error.type': 'other', value: 2 },
    ]);
    expect(await points('sluice.breaker.transitions')).toEqual([
      { ...observed, 'sluice.breaker.state': 'open', value: 1 },
    ]);
    expect(await points('sluice.breaker.state')).toEqual([
      { ...observed, 'sluice.breaker.state': 'open', value: 1 },
      { ...observed, 'sluice.breaker.state': 'half-open', value: 0 },
      { ...observed, 'sluice.breaker.state': 'closed', value: 0 },
    ]);
    expect(await points('sluice.fallback.active')).toEqual([{ ...observed, value: 1 }]);
    expect(await points('sluice.memory.keys')).toEqual([{ ...observed, value: 3 }]);
  });

  it('is no breaker where a limiter counts in memory', async () => {
    limiterOf();

    expect(await points('sluice.breaker.state')).toEqual([]);
    expect(await points('sluice.memory.keys')).toEqual([{ 'sluice.limiter': 'observed', value: 0 }]);
  });

  it('is nothing more once it was ended', async () => {
    const limiter = limiterOf();
    await limiter.consume('key');
    stop();

    await limiter.consume('key');

    expect(await points('sluice.decisions')).toEqual([expect.objectContaining({ value: 1 })]);
    expect(await points('sluice.memory.keys')).toEqual([]);
  });
});

describe('reportToOpenTelemetry', () => {
  it('rejects a second call for one provider, and accepts it after the first has ended', () => {
    const again = () => reportToOpenTelemetry({ meterProvider });

    expect(again).toThrow(expect.objectContaining({ code: 'SLUICE_OPTION_INVALID', field: 'meterProvider' }));
    stop();
    stop = again();
  });

  it('uses the global provider by default', async () => {
    stop();
    metrics.setGlobalMeterProvider(meterProvider);
    stop = reportToOpenTelemetry();

    await limiterOf().consume('key');
    metrics.disable();

    expect(await points('sluice.decisions')).toHaveLength(1);
  });

  it.each([
    [{ meterProvider: {} }, 'SLUICE_OPTION_INVALID', 'meterProvider'],
    [{ meterProvider: null }, 'SLUICE_OPTION_INVALID', 'meterProvider'],
    [{ tracer: 1 }, 'SLUICE_OPTION_UNKNOWN', 'tracer'],
  ])('denies %j', (options, code, field) => {
    expect(() => reportToOpenTelemetry(options as object)).toThrow(expect.objectContaining({ code, field }));
  });
});

describe('the span of a request', () => {
  const spans = new InMemorySpanExporter();
  const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  });
  afterAll(async () => {
    context.disable();
    await tracing.shutdown();
  });
  beforeEach(() => {
    spans.reset();
  });

  const inSpan = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const span = tracing.getTracer('test').startSpan(name);
    await context.with(trace.setSpan(context.active(), span), work);
    span.end();
  };
  const attributesOf = (name: string) => spans.getFinishedSpans().find((span) => span.name === name)?.attributes;

  it.each<[string, () => Partial<LimiterOptions>]>([
    ['memory', () => ({})],
    ['redis', () => ({ store: redisStore(redis.client, { prefix: 'sluice' }) })],
  ])('has the source and the reason of a denial: %s', async (source, options) => {
    const limiter = limiterOf(options());
    await inSpan('allowed', () => limiter.consume('key'));
    let denial: Decision | undefined;

    await Promise.all([
      inSpan('denied', async () => (denial = await limiter.consume('key'))),
      inSpan('another', () => limiter.consume('other key')),
    ]);

    expect(attributesOf('denied')).toEqual({
      'sluice.limiter': 'observed',
      'sluice.policy': 'hourly',
      'sluice.outcome': 'denied',
      'sluice.source': source,
      'sluice.retry_after_ms': denial?.retryAfterMs,
    });
    expect(attributesOf('allowed')).toEqual({});
    expect(attributesOf('another')).toEqual({});
  });

  it('has no time to wait if waiting does not help', async () => {
    await inSpan('denied', () => limiterOf({ store: away(), onStoreError: 'deny' }).consume('key'));

    expect(attributesOf('denied')).toEqual({
      'sluice.limiter': 'observed',
      'sluice.policy': 'hourly',
      'sluice.outcome': 'unavailable',
      'sluice.source': 'none',
    });
  });

  it('has nothing about a peek', async () => {
    const limiter = limiterOf();
    await limiter.consume('key');

    await inSpan('looked', () => limiter.peek('key'));

    expect(attributesOf('looked')).toEqual({});
  });
});
