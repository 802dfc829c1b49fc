import { describe, expect, it } from '@jest/globals';
import { redisStore, type RedisStoreOptions } from '@sluice/old-core';

describe('the prefix of redisStore', () => {
  const url = 'redis://127.0.0.1:1';
  const INVALID = { name: 'PolicyError', code: 'SLUICE_OPTION_INVALID', field: 'prefix' };

  it('is required, and the error shows the line to write', () => {
    const message =
      'redisStore needs a prefix, the name of your application, so that two applications on one Redis never share ' +
      "limits by accident: redisStore(client, { prefix: 'shop' }) [SLUICE_OPTION_INVALID]";

    // @ts-expect-error There are no options.
    expect(() => redisStore(url)).toThrow(expect.objectContaining({ ...INVALID, message }));
    // @ts-expect-error There is no prefix.
    expect(() => redisStore(url, {})).toThrow(expect.objectContaining({ ...INVALID, message }));
    // @ts-expect-error Such as an environment variable that is not set.
    expect(() => redisStore(url, { prefix: undefined })).toThrow(expect.objectContaining({ ...INVALID, message }));
  });

  it.each<[string, unknown, string]>([
    ['is empty', '', '""'],
    ['has braces', '{shop}', '"{shop}"'],
    ['has an opening brace', 'sh{op', '"sh{op"'],
    ['has a space', 'my shop', '"my shop"'],
    ['is longer than 64 characters', 'a'.repeat(65), '"aaa'],
    ['is a number', 7, '7'],
    ['is null', null, 'null'],
  ])('is denied where it %s', (_what, prefix, got) => {
    const store = (): unknown => redisStore(url, { prefix } as RedisStoreOptions);

    expect(store).toThrow(expect.objectContaining(INVALID));
    expect(store).toThrow(`prefix must be 1 to 64 letters, digits, ".", "_", "-", ":" and "/", got ${got}`);
    expect(store).toThrow("; write redisStore(client, { prefix: 'shop' }) [");
  });

  it('is explained by hash slots only if it has braces', () => {
    expect(() => redisStore(url, { prefix: '{shop}' })).toThrow('; braces would move every key to one hash slot;');
    expect(() => redisStore(url, { prefix: 'my shop' })).not.toThrow('braces');
  });

  it.each(['shop', 'shop:v2', 'Shop_1.eu-west/orders', 'a'.repeat(64)])('may be %s', (prefix) => {
    expect(redisStore(url, { prefix }).source).toBe('redis');
  });
});
