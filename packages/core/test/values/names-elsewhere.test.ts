import { describe, expect, it } from '@jest/globals';
import { namesElsewhere } from '../../src/values/names-elsewhere.ts';
import { flag, readOptions } from '../../src/values/shape.ts';

const KNOWN = ['limit', 'window', 'policy', 'key', 'name', 'headers', 'status', 'onDenied', 'onStoreError', 'skip'];

function errorFor(options: object, known = KNOWN): string {
  try {
    readOptions(options, Object.fromEntries(known.map((name) => [name, flag])), 'rateLimit');
  } catch (error) {
    return (error as Error).message;
  }
  return 'no error';
}

describe('an option of another package', () => {
  it('is looked up by its own name alone', () => {
    expect(namesElsewhere('constructor', KNOWN)).toEqual({});
  });

  it.each(
    Object.entries({
      ...{ windowMs: 'window', timeWindow: 'window', duration: 'window', max: 'limit', keyGenerator: 'key' },
      ...{ keyPrefix: 'name', standardHeaders: 'headers', statusCode: 'status', message: 'onDenied' },
      ...{ passOnStoreError: 'onStoreError', algorithm: 'policy' },
    }),
  )('%s is answered with the name to write: %s', (name, meant) => {
    expect(errorFor({ [name]: 5 })).toContain(`did you mean "${meant}"?`);
  });

  it('is answered with the first option that exists', () => {
    expect(errorFor({ max: 5 }, ['capacity', 'refill'])).toContain('did you mean "capacity"?');
    expect(errorFor({ blockDuration: 60 }, ['limit', 'blockFor'])).toContain('did you mean "blockFor"?');
  });

  it('without a counterpart is answered with what to do', () => {
    expect(errorFor({ trustProxy: true })).toContain('the framework itself has a setting for trusted proxies');
    expect(errorFor({ ban: 3 })).toContain('set blockFor in its policy, or call limiter.block(key, "1h")');
  });

  it('is answered together with all others, so that one run is enough', () => {
    expect(errorFor({ windowMs: 60_000, max: 5, limit: 3, message: 'no' })).toBe(
      'rateLimit has no options "windowMs" (got 60000; did you mean "window"?), ' +
        '"max" (got 5; did you mean "limit"?), ' +
        '"message" (got "no"; did you mean "onDenied"?) [SLUICE_OPTION_UNKNOWN]',
    );
  });

  it('is shown with its value, whatever that is', () => {
    const hostile = {
      max: '"}]?\u0000',
      windowMs: {
        toString: (): string => {
          throw new Error('asked');
        },
      },
    };

    expect(errorFor(hostile)).toContain('rateLimit has no options "max" (got "\\"}]?\\u0000"');
  });
});
