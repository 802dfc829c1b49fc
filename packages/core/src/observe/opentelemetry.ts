import { metrics, trace, type BatchObservableResult, type MeterProvider } from '@opentelemetry/api';
import type { Decision } from '../decision.ts';
import { PolicyError, shown } from '../errors.ts';
import { checkOptions } from '../options.ts';
import { DECISION_SECONDS } from './decision-seconds.ts';
import { BREAKER_STATES, GaugeReader } from './gauges.ts';
import { listen } from './listen.ts';

/** The options of {@link reportToOpenTelemetry}. */
export interface OpenTelemetryOptions {
  /** Where the meter comes from. Default: the global one, which the SDK registers when it starts. */
  meterProvider?: MeterProvider | undefined;
}

// For all copies of this package in a process: as an ES module, as CommonJS, in two versions.
const LIST = Symbol.for('@sluice/core.meter-providers');
const reporting = ((globalThis as unknown as Record<symbol, WeakSet<object> | undefined>)[LIST] ??= new WeakSet());

/**
 * Counts and measures all limiters of this process, whenever they were made, through OpenTelemetry, and writes down on
 * the active span why a request was refused. Attributes are names from the configuration and words of fixed lists, never
 * a key, an address or a path. Every instrument is described in docs/reference/observability.md.
 *
 * To be called after the SDK has started: a meter that was asked for earlier measures nothing.
 *
 * @returns What ends it.
 * @throws PolicyError `SLUICE_OPTION_INVALID` when it reports to this provider already, and for bad options.
 */
export function reportToOpenTelemetry(options: OpenTelemetryOptions = {}): () => void {
  checkOptions(options, ['meterProvider'], 'reportToOpenTelemetry');
  const { meterProvider = metrics.getMeterProvider() } = options;
  checkFree(meterProvider);
  reporting.add(meterProvider);
  const meter = meterProvider.getMeter('@sluice/core');
  const decisions = meter.createCounter('sluice.decisions', {
    description: 'Decisions, without peeks.',
    unit: '{decision}',
  });
  const durations = meter.createHistogram('sluice.decision.duration', {
    description: 'How long decisions took, without peeks.',
    unit: 's',
    advice: { explicitBucketBoundaries: [...DECISION_SECONDS] },
  });
  const storeErrors = meter.createCounter('sluice.store.errors', {
    description: 'Calls of a store that failed or were late, probes included.',
    unit: '{error}',
  });
  const transitions = meter.createCounter('sluice.breaker.transitions', {
    description: 'Changes of a breaker, by the state that it came to.',
    unit: '{transition}',
  });
  const breakerState = meter.createObservableGauge('sluice.breaker.state', {
    description: 'Whether the breaker before the store of a limiter is in this state (1) or not (0).',
  });
  const fallbackActive = meter.createObservableGauge('sluice.fallback.active', {
    description: 'Whether the last decision of a limiter was made by what stands in for its store (1) or not (0).',
  });
  const keysInMemory = meter.createObservableGauge('sluice.memory.keys', {
    description: 'Keys in the memory store of a limiter, or in the memory that stands in for its store.',
    unit: '{key}',
  });
  const gauges = new GaugeReader();
  const observe = (result: BatchObservableResult): void => {
    for (const { limiter, breaker, isOnFallback, keysInMemory: keys } of gauges.read()) {
      const attributes = { 'sluice.limiter': limiter };
      for (const state of breaker === undefined ? [] : BREAKER_STATES) {
        result.observe(breakerState, state === breaker ? 1 : 0, { ...attributes, 'sluice.breaker.state': state });
      }
      result.observe(fallbackActive, isOnFallback ? 1 : 0, attributes);
      result.observe(keysInMemory, keys, attributes);
    }
  };
  const observables = [breakerState, fallbackActive, keysInMemory];
  meter.addBatchObservableCallback(observe, observables);
  const stopListening = listen({
    onDecision(message) {
      gauges.onDecision(message);
      const { limiter, op, decision, durationMs } = message;
      if (op === 'peek') return; // it took nothing, and refused nobody
      const { policy, outcome, source } = decision;
      const attributes = { 'sluice.limiter': limiter, 'sluice.source': source };
      decisions.add(1, { ...attributes, 'sluice.policy': policy, 'sluice.outcome': outcome });
      durations.record(durationMs / 1000, attributes);
      if (!decision.allowed) writeOnSpan(limiter, decision);
    },
    onStoreFailure({ limiter, store, kind }) {
      storeErrors.add(1, { 'sluice.limiter': limiter, 'sluice.store': store, 'error.type': kind });
    },
    onBreaker(message) {
      gauges.onBreaker(message);
      for (const limiter of message.limiters) {
        transitions.add(1, { 'sluice.limiter': limiter, 'sluice.breaker.state': message.state });
      }
    },
  });
  return () => {
    stopListening();
    meter.removeBatchObservableCallback(observe, observables);
    reporting.delete(meterProvider);
  };
}

/** A decision is told of in the context of the call that asked for it, so the span is the caller's. */
function writeOnSpan(limiter: string, { policy, outcome, source, retryAfterMs }: Decision): void {
  trace.getActiveSpan()?.setAttributes({
    'sluice.limiter': limiter,
    'sluice.policy': policy,
    'sluice.outcome': outcome,
    'sluice.source': source,
    // No attribute where waiting does not help.
    ...(retryAfterMs === null ? {} : { 'sluice.retry_after_ms': retryAfterMs }),
  });
}

function checkFree(meterProvider: MeterProvider): void {
  if (typeof (meterProvider as Partial<MeterProvider> | null)?.getMeter !== 'function') {
    const message = `meterProvider must be a MeterProvider of OpenTelemetry, got ${shown(meterProvider)}`;
    throw new PolicyError('meterProvider', message, 'SLUICE_OPTION_INVALID');
  }
  if (!reporting.has(meterProvider)) return;
  throw new PolicyError(
    'meterProvider',
    'meterProvider is reported to already: reportToOpenTelemetry is called once for a provider, and again only after what it returned',
    'SLUICE_OPTION_INVALID',
  );
}
