// Both copies of the built package in one process: as ES modules, and as CommonJS, whose files are named here, because
// Node.js loads the same copy for both. One collects, both decide.
//
// argv: which of them collects, `esm` or `cjs`
import { createRequire } from 'node:module';
import { metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import * as esm from '@sluice/core';
import * as esmMetrics from '@sluice/core/metrics';
import * as esmOpenTelemetry from '@sluice/core/opentelemetry';
import prometheus from 'prom-client';
import { createEnforcer } from '../../../http/dist/spi.js';

const require = createRequire(import.meta.url);
const copies = {
  esm: { ...esm, ...esmMetrics, ...esmOpenTelemetry },
  cjs: {
    ...require('../../dist/index.cjs'),
    ...require('../../dist/metrics.cjs'),
    ...require('../../dist/opentelemetry.cjs'),
  },
};
const [collecting] = process.argv.slice(2);
const other = collecting === 'esm' ? 'cjs' : 'esm';

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
copies[collecting].collectMetrics();
copies[collecting].reportToOpenTelemetry();
const codeOf = (call) => {
  try {
    call();
    return 'none';
  } catch ({ code }) {
    return code;
  }
};
const twice = [codeOf(copies[other].collectMetrics), codeOf(copies[other].reportToOpenTelemetry)];

// Referenced until the end, because collected limiters are not shown.
const limiters = Object.entries(copies).map(([name, { createLimiter, fixedWindow }]) =>
  createLimiter({ name, policy: fixedWindow({ limit: 1, window: '1h' }) }),
);
for (const limiter of limiters) await limiter.consume('key');

const policy = esm.fixedWindow({ limit: 1, window: '1h' });
const store = esm.memoryStore();
const shop = esm.createLimiter({ name: 'shop', policy, store });
const nameTwice = codeOf(() => copies.cjs.createLimiter({ name: 'shop', policy, store }));
await shop.close();
const foreign = copies.cjs.createLimiter({
  name: 'foreign',
  policy: copies.cjs.fixedWindow({ limit: 1, window: '1h' }),
});
let ofOtherCopy;
try {
  createEnforcer({ limiter: foreign }, {});
} catch ({ message }) {
  ofOtherCopy = message;
}
await foreign.close();

const samples = async (name) =>
  (await prometheus.register.getMetricsAsJSON())
    .find((metric) => metric.name === name)
    .values.map(({ labels, value }) => `${labels.limiter} ${value}`);
await reader.forceFlush();
const exported = exporter
  .getMetrics()
  .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((keySuffix) => keySuffix.metrics));
const points = (name) =>
  exported
    .find(({ descriptor }) => descriptor.name === name)
    .dataPoints.map(({ attributes, value }) => `${attributes['sluice.limiter']} ${value}`);
process.stdout.write(
  JSON.stringify({
    sameModule: copies.esm.createLimiter === copies.cjs.createLimiter,
    sameByRequire: copies.esm.createLimiter === require('@sluice/core').createLimiter,
    nameTwice,
    ofOtherCopy,
    twice,
    decisions: await samples('sluice_decisions_total'),
    keys: await samples('sluice_keys_in_memory'),
    otelDecisions: points('sluice.decisions'),
    otelKeys: points('sluice.memory.keys'),
  }),
);
for (const limiter of limiters) await limiter.close();
process.exit();
