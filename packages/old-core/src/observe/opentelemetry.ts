import { metrics, trace, type BatchObservableResult, type Counter, type MeterProvider } from '@opentelemetry/api';
import type { Decision } from '../engine/decision.ts';
import { PolicyError } from '../errors.ts';
import { checkOptions, invalidOption } from '../values/check-options.ts';
import { DECISION_SECONDS } from './decision-seconds.ts';
import { BREAKER_STATES, GaugeReader, isNear } from './gauges.ts';
import { listen } from './listen.ts';

/** The options of {@link reportToOpenTelemetry}. */
export interface OpenTelemetryOptions {
  /** The provider of the meter. Default: the global one, which the SDK registers when it starts. */
  meterProvider?: MeterProvider | undefined;
}

const reporting = new WeakSet();

/**
 * Reports metrics of all limiters of this process, earlier and later ones, to OpenTelemetry, and records on the active
 * span why a request was denied. Attributes are names from the configuration and words of fixed lists, never a key, an
 * address or a path. See docs/reference/observability.md for every instrument.
 *
 * Call it after the SDK has started: a meter that is created earlier measures nothing.
 *
 * @returns A function that stops the reports.
 * @throws PolicyError `SLUICE_OPTION_INVALID` for bad options, and if an earlier call reports to this provider.
 */
export function reportToOpenTelemetry(options: OpenTelemetryOptions = {}): () => void {
  checkOptions(options, ['meterProvider'], 'reportToOpenTelemetry');
  const { meterProvider = metrics.getMeterProvider() } = options;
  checkFree(meterProvider);
  reporting.add(meterProvider);
  const meter = meterProvider.getMeter('@sluice/core');
  const counter = (name: string, description: string, unit: string): Counter =>
    meter.createCounter(name, { description, unit });
  const decisions = counter('sluice.decisions', 'Decisions, without peeks.', '{decision}');
  const durations = meter.createHistogram('sluice.decision.duration', {
    description: 'How long decisions took, without peeks.',
    unit: 's',
    advice: { explicitBucketBoundaries: [...DECISION_SECONDS] },
  });
  const storeErrors = counter(
    'sluice.store.errors',
    'Calls of a store that failed or were late, including probes.',
    '{error}',
  );
  const transitions = counter('sluice.breaker.transitions', 'Changes of a breaker, by its new state.', '{transition}');
  const breakerState = meter.createObservableGauge('sluice.breaker.state', {
    description: 'Whether the breaker before the store of a limiter is in this state (1) or not (0).',
  });
  const fallbackActive = meter.createObservableGauge('sluice.fallback.active', {
    description: 'Whether the fallback of its store made the last decision of a limiter (1) or not (0).',
  });
  const keysInMemory = meter.createObservableGauge('sluice.memory.keys', {
    description: 'Keys in the memory store of a limiter, or in the fallback of its store.',
    unit: '{key}',
  });
  const limitGauge = meter.createObservableGauge('sluice.limit', {
    description: 'Units that can be had at once: the limit of a window, the capacity of a bucket.',
    unit: '{unit}',
  });
  const nearLimit = counter(
    'sluice.near_limit',
    'Decisions that allowed, and left at most a fifth of the limit of the policy that decided.',
    '{decision}',
  );
  const gauges = new GaugeReader();
  const observe = (result: BatchObservableResult): void => {
    for (const { limiter, breaker, isOnFallback, keysInMemory: keys, limits } of gauges.read()) {
      const attributes = { 'sluice.limiter': limiter };
      for (const state of breaker === undefined ? [] : BREAKER_STATES) {
        result.observe(breakerState, state === breaker ? 1 : 0, { ...attributes, 'sluice.breaker.state': state });
      }
      result.observe(fallbackActive, isOnFallback ? 1 : 0, attributes);
      result.observe(keysInMemory, keys, attributes);
      for (const [policy, limit] of limits) {
        result.observe(limitGauge, limit, { ...attributes, 'sluice.policy': policy });
      }
    }
  };
  const observables = [breakerState, fallbackActive, keysInMemory, limitGauge];
  meter.addBatchObservableCallback(observe, observables);
  const stopListening = listen({
    onDecision(message) {
      gauges.onDecision(message);
      const { limiter, op, decision, durationMs } = message;
      if (op === 'peek') return; // a peek consumes nothing and denies no request
      const { policy, outcome, source } = decision;
      const attributes = { 'sluice.limiter': limiter, 'sluice.source': source };
      decisions.add(1, { ...attributes, 'sluice.policy': policy, 'sluice.outcome': outcome });
      durations.record(durationMs / 1000, attributes);
      if (isNear(decision)) nearLimit.add(1, { 'sluice.limiter': limiter, 'sluice.policy': policy });
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

/** A decision is published in the context of the call that requested it, so the active span is the caller's. */
function writeOnSpan(limiter: string, { policy, outcome, source, retryAfterMs }: Decision): void {
  trace.getActiveSpan()?.setAttributes({
    'sluice.limiter': limiter,
    'sluice.policy': policy,
    'sluice.outcome': outcome,
    'sluice.source': source,
    // No attribute if waiting does not help.
    ...(retryAfterMs === null ? {} : { 'sluice.retry_after_ms': retryAfterMs }),
  });
}

function checkFree(meterProvider: MeterProvider): void {
  if (typeof (meterProvider as Partial<MeterProvider> | null)?.getMeter !== 'function') {
    throw invalidOption('meterProvider', 'a MeterProvider of OpenTelemetry', meterProvider);
  }
  if (!reporting.has(meterProvider)) return;
  throw new PolicyError(
    'meterProvider',
    'meterProvider gets reports already: call reportToOpenTelemetry once per provider, and call the function it returned before you call it again',
    'SLUICE_OPTION_INVALID',
  );
}
