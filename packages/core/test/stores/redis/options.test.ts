import { describe, expect, it } from '@jest/globals';
import { redisStore, type RedisStoreOptions } from '@sluice/core';

describe('an option that redisStore had', () => {
  it.each([
    [{ batching: false }, 'batching', 'has no option "batching" (got false); concurrent decisions always share calls'],
    [{ coalescing: true }, 'coalescing', '(got true); equal requests for one key in one call are always one step'],
  ])('is named with what there is instead: %j', (options, field, message) => {
    expect(() => redisStore('redis://127.0.0.1:1', options as RedisStoreOptions)).toThrow(
      expect.objectContaining({
        field,
        code: 'SLUICE_OPTION_UNKNOWN',
        message: expect.stringContaining(message),
      }),
    );
  });
});
