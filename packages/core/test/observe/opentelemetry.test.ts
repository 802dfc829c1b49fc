import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import { reportToOpenTelemetry } from '../../src/observe/opentelemetry.ts';
import { decide, failStore, useLiveLimiters } from './publish.ts';

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
describe('what is reported to OpenTelemetry', () => {
  it('is what happened, how long it took, and what limiters are at present, until it is ended', async () => {
    live({}, { breaker: 'open' });
    decide();
    failStore();
    const data = await exported();
    stop();
    decide();
    const after = await exported();

    const api = { 'sluice.limiter': 'api' };
    const decided = { ...api, 'sluice.policy': 'hourly', 'sluice.outcome': 'allowed', 'sluice.source': 'memory' };
    const failed = { ...api, 'sluice.store': 'redis', 'error.type': 'timeout' };
    const opened = { ...api, 'sluice.breaker.state': 'open' };
    expect(data.get('sluice.decisions')).toMatchObject({ dataPoints: [{ attributes: decided, value: 1 }] });
    expect(data.get('sluice.store.errors')).toMatchObject({ dataPoints: [{ attributes: failed, value: 1 }] });
    expect(data.get('sluice.breaker.state')?.dataPoints[0]).toMatchObject({ attributes: opened, value: 1 });
    expect(data.get('sluice.limit')).toMatchObject({ dataPoints: [{ value: 10 }] });
    expect(after.get('sluice.decisions')).toMatchObject({ dataPoints: [{ value: 1 }] });
    const duration = data.get('sluice.decision.duration');
    expect(duration).toMatchObject({ descriptor: { unit: 's' }, dataPoints: [{ value: { count: 1, sum: 0.25 } }] });
    expect(duration?.dataPoints[0]?.value).toHaveProperty('buckets.boundaries.0', 0.00005);
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

    expect((await exported()).has('sluice.decisions')).toBe(true);
  });

  it.each([
    [{ meterProvider: {} }, 'SLUICE_OPTION_INVALID', 'meterProvider'],
    [{ tracer: 1 }, 'SLUICE_OPTION_UNKNOWN', 'tracer'],
  ])('rejects %j', (options, code, field) => {
    expect(() => reportToOpenTelemetry(options as object)).toThrow(expect.objectContaining({ code, field }));
  });
});
