export * from '@sluice/core/opentelemetry';
