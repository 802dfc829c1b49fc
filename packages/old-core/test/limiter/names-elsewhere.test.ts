import { describe, expect, it } from '@jest/globals';
import { checkOptions } from '@sluice/old-core/spi';

const KNOWN = ['limit', 'window', 'policy', 'key', 'name', 'headers', 'status', 'onDenied', 'onStoreError', 'skip'];
const byUser = (): string => 'ann';

function errorOf(options: object, known = KNOWN): string {
  try {
    checkOptions(options, known, 'rateLimit');
  } catch (error) {
    return (error as Error).message;
  }
  return 'no error';
}

describe('an option of another package', () => {
  it.each<[string, unknown, string]>([
    ['windowMs', 60_000, 'window: "1m"'],
    ['windowMs', 900_000, 'window: "15m"'],
    ['windowMs', 1500, 'window: "1500ms"'],
    ['timeWindow', '1 minute', 'window: "1m"'],
    ['timeWindow', '2 hours', 'window: "2h"'],
    ['timeWindow', 1000, 'window: "1s"'],
    ['duration', 60, 'window: "1m"'],
    ['ttl', 86_400_000, 'window: "1d"'],
    ['max', 5, 'limit: 5'],
    ['points', 10, 'limit: 10'],
    ['max', byUser, 'policy: (request) => fixedWindow({ name: "plan", limit: 100, window: "1m" })'],
    ['keyGenerator', byUser, 'key: the same function'],
    ['getTracker', byUser, 'key: the same function'],
    ['keyPrefix', 'shop', 'name: "shop"'],
    ['identifier', 'api', 'name: "api"'],
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
    ['skipIf', byUser, 'skip: the same function'],
  ])('%s: %p is told as the line to write', (name, value, line) => {
    expect(errorOf({ [name]: value })).toContain(`did you mean ${line}?`);
  });

  it.each<[string, unknown, string]>([
    ['windowMs', 'soon', 'window'],
    ['windowMs', -1, 'window'],
    ['timeWindow', '1 fortnight', 'window'],
    ['max', '5', 'limit'],
    ['keyGenerator', 'ip', 'key'],
    ['statusCode', 'teapot', 'status'],
  ])('%s: %p, whose value says nothing, is told as the name', (name, value, meant) => {
    expect(errorOf({ [name]: value })).toContain(`did you mean "${meant}"?`);
  });

  it('is told together with all others, so that one run is enough', () => {
    expect(errorOf({ windowMs: 60_000, max: 5, limit: 3, message: 'no' })).toBe(
      'rateLimit has no option "windowMs" (got 60000); did you mean window: "1m"?; ' +
        'nor "max" (got 5): did you mean limit: 5?; ' +
        'nor "message" (got "no"): did you mean onDenied: (request, response) => response.end("no")? ' +
        '[SLUICE_OPTION_UNKNOWN]',
    );
  });
});

describe.each(['limit', 'window'])('a value that came for %s', (name) => {
  it('is shown as a value, whatever it holds', () => {
    const hostile = {
      max: '"}]?\u0000',
      windowMs: {
        toString: (): string => {
          throw new Error('asked');
        },
      },
    };

    expect(errorOf(hostile, [name])).toContain('rateLimit has no option "max" (got "\\"}]?\\u0000")');
  });
});
