import { describe, expect, it } from '@jest/globals';
import { namesElsewhere } from '../../src/values/names-elsewhere.ts';
import { flag, readOptions } from '../../src/values/shape.ts';

const KNOWN = ['limit', 'window', 'policy', 'key', 'name', 'headers', 'status', 'onDenied', 'onStoreError', 'skip'];
const byUser = (): string => 'ann';

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
    expect(namesElsewhere('constructor', 1, KNOWN)).toEqual({});
  });

  it.each<[string, unknown, string]>([
    ['windowMs', 60_000, 'window: "1m"'],
    ['windowMs', 1500, 'window: "1500ms"'],
    ['timeWindow', '1 minute', 'window: "1m"'],
    ['timeWindow', '2 hours', 'window: "2h"'],
    ['duration', 60, 'window: "1m"'],
    ['ttl', 86_400_000, 'window: "1d"'],
    ['max', 5, 'limit: 5'],
    ['max', byUser, 'policy: (request) => fixedWindow({ name: "plan", limit: 100, window: "1m" })'],
    ['keyGenerator', byUser, 'key: the same function'],
    ['keyPrefix', 'shop', 'name: "shop"'],
    ['standardHeaders', true, 'headers: "draft-6"'],
    ['standardHeaders', false, 'headers: false'],
    ['standardHeaders', 'draft-7', 'headers: "draft-7"'],
    ['standardHeaders', 'draft-8', 'headers: "draft-11"'],
    ['legacyHeaders', false, 'headers: "draft-11"'],
    ['legacyHeaders', true, 'headers: ["draft-11", { legacy: "epoch" }]'],
    ['statusCode', 503, 'status: { denied: 503 }'],
    ['message', 'Slow down', 'onDenied: (request, response) => response.end("Slow down")'],
    ['passOnStoreError', true, 'onStoreError: "allow"'],
    ['passOnStoreError', false, 'onStoreError: "throw"'],
    ['algorithm', 'sliding', 'policy: fixedWindow({ limit: 100, window: "1m" })'],
  ])('%s: %p is answered with the line to write', (name, value, line) => {
    expect(errorFor({ [name]: value })).toContain(`did you mean ${line}?`);
  });

  it.each<[string, unknown, string]>([
    ['windowMs', 'soon', 'window'],
    ['windowMs', -1, 'window'],
    ['timeWindow', '1 fortnight', 'window'],
    ['max', '5', 'limit'],
    ['statusCode', 'teapot', 'status'],
  ])('%s: %p, whose value says nothing, is answered with the name', (name, value, meant) => {
    expect(errorFor({ [name]: value })).toContain(`did you mean "${meant}"?`);
  });

  it('without a counterpart is answered with what to do', () => {
    expect(errorFor({ trustProxy: true })).toContain('the framework itself has a setting for trusted proxies');
    expect(errorFor({ ban: 3 })).toContain('write blockFor in its policy, or call limiter.block(key, "1h")');
    expect(errorFor({ blockDuration: 60 }, ['limit', 'blockFor'])).toContain('did you mean blockFor: "1m"?');
  });

  it('is answered together with all others, so that one run is enough', () => {
    expect(errorFor({ windowMs: 60_000, max: 5, limit: 3, message: 'no' })).toBe(
      'rateLimit has no option "windowMs" (got 60000); did you mean window: "1m"?; ' +
        'nor "max" (got 5): did you mean limit: 5?; ' +
        'nor "message" (got "no"): did you mean onDenied: (request, response) => response.end("no")? ' +
        '[SLUICE_OPTION_UNKNOWN]',
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

    expect(errorFor(hostile)).toContain('rateLimit has no option "max" (got "\\"}]?\\u0000")');
  });
});
