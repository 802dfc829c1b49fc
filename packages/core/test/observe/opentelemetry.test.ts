import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { context, metrics, trace, type Attributes } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { reportToOpenTelemetry } from '../../src/observe/opentelemetry.ts';
import { changeBreaker, decide, DENIAL, failStore, useLiveLimiters } from './publish.ts';

const live = useLiveLimiters();
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
  await meterProvider.shutdown();
});

/** What is exported now, by the names of instruments. */
const exported = async (): Promise<ReadonlyMap<string, MetricData>> => {
  exporter.reset();
  await reader.forceFlush();
  const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  return new Map(all.map((data) => [data.descriptor.name, data]));
};
const points = async (name: string): Promise<unknown[] | undefined> =>
  (await exported()).get(name)?.dataPoints.map(({ attributes, value }) => ({ ...attributes, value }));

describe('what is reported to OpenTelemetry', () => {
  it('is decisions by limiter, policy, outcome and source; no peeks', async () => {
    decide({ remaining: 1 });
    decide({}, 'peek');

    const attributes = { 'sluice.limiter': 'api', 'sluice.policy': 'hourly' };
    const from = { 'sluice.outcome': 'allowed', 'sluice.source': 'memory' };
    expect(await points('sluice.decisions')).toEqual([{ ...attributes, ...from, value: 1 }]);
    expect(await points('sluice.near_limit')).toEqual([{ ...attributes, value: 1 }]);
  });

  it('is how long they took, in seconds, in buckets from 50 µs', async () => {
    decide();

    const duration = (await exported()).get('sluice.decision.duration');

    expect(duration?.descriptor.unit).toBe('s');
    expect(duration?.dataPoints).toEqual([
      expect.objectContaining({
        attributes: { 'sluice.limiter': 'api', 'sluice.source': 'memory' },
        value: expect.objectContaining({ count: 1, sum: 0.25 }) as unknown,
      }),
    ]);
    expect(duration?.dataPoints[0]?.value).toHaveProperty('buckets.boundaries.0', 0.00005);
  });

  it('is a store that fails, and its breaker', async () => {
    failStore();
    changeBreaker('closed', 'open');

    const api = { 'sluice.limiter': 'api' };
    expect(await points('sluice.store.errors')).toEqual([
      { ...api, 'sluice.store': 'redis', 'error.type': 'timeout', value: 1 },
    ]);
    expect(await points('sluice.breaker.transitions')).toContainEqual({
      ...api,
      'sluice.breaker.state': 'open',
      value: 1,
    });
  });

  it('is what limiters are at present', async () => {
    live({}, { breaker: 'open', keysInMemory: 3 });
    decide({ source: 'local' });

    const api = { 'sluice.limiter': 'api' };
    expect(await points('sluice.breaker.state')).toEqual([
      { ...api, 'sluice.breaker.state': 'open', value: 1 },
      { ...api, 'sluice.breaker.state': 'half-open', value: 0 },
      { ...api, 'sluice.breaker.state': 'closed', value: 0 },
    ]);
    expect(await points('sluice.fallback.active')).toEqual([{ ...api, value: 1 }]);
    expect(await points('sluice.memory.keys')).toEqual([{ ...api, value: 3 }]);
    expect(await points('sluice.limit')).toEqual([{ ...api, 'sluice.policy': 'hourly', value: 10 }]);
  });

  it('is nothing more once it was ended', async () => {
    live({});
    decide();
    stop();

    decide();

    expect(await points('sluice.decisions')).toEqual([expect.objectContaining({ value: 1 })]);
    expect(await points('sluice.limit')).toBeUndefined();
  });
});

describe('reportToOpenTelemetry', () => {
  it('rejects a second call for one provider, and accepts it after the first has ended', () => {
    const again = (): (() => void) => reportToOpenTelemetry({ meterProvider });

    expect(again).toThrow(expect.objectContaining({ code: 'SLUICE_OPTION_INVALID', field: 'meterProvider' }));
    stop();
    stop = again();
  });

  it('uses the global provider by default', async () => {
    stop();
    metrics.setGlobalMeterProvider(meterProvider);
    stop = reportToOpenTelemetry();

    decide();
    metrics.disable();

    expect(await points('sluice.decisions')).toHaveLength(1);
  });

  it.each([
    [{ meterProvider: {} }, 'SLUICE_OPTION_INVALID', 'meterProvider'],
    [{ meterProvider: null }, 'SLUICE_OPTION_INVALID', 'meterProvider'],
    [{ tracer: 1 }, 'SLUICE_OPTION_UNKNOWN', 'tracer'],
  ])('rejects %j', (options, code, field) => {
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

  /** The attributes of a span in which this happens. */
  const attributesAfter = (happens: () => void): Attributes | undefined => {
    spans.reset();
    const span = tracing.getTracer('test').startSpan('request');
    context.with(trace.setSpan(context.active(), span), happens);
    span.end();
    return spans.getFinishedSpans()[0]?.attributes;
  };

  it('has the reason of a denial, and when it may be tried again', () => {
    expect(
      attributesAfter(() => {
        decide(DENIAL);
      }),
    ).toEqual({
      'sluice.limiter': 'api',
      'sluice.policy': 'hourly',
      'sluice.outcome': 'denied',
      'sluice.source': 'memory',
      'sluice.retry_after_ms': 1_000,
    });
  });

  it('has no time to wait if waiting does not help', () => {
    const attributes = attributesAfter(() => {
      decide({ ...DENIAL, retryAfterMs: null });
    });

    expect(attributes).not.toHaveProperty('sluice.retry_after_ms');
  });

  it('has nothing of what was allowed, and of a peek', () => {
    expect(
      attributesAfter(() => {
        decide();
        decide(DENIAL, 'peek');
      }),
    ).toEqual({});
  });
});
