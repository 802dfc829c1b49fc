export * from '@sluice/testing/adapter-target';
