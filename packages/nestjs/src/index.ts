export * from '@sluice/core';
