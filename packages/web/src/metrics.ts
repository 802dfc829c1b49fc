export * from '@sluice/core/metrics';
