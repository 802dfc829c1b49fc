import { describe, expect, it } from '@jest/globals';
import { PathPattern } from '../../src/forward-auth/path-pattern.ts';

describe('a pattern of paths', () => {
  it.each([
    ['/login', ['/login', '/login/', '/login//'], ['/', '', '/log', '/login/x', '/loginx', '/x/login', '/LOGIN']],
    ['/login/', ['/login', '/login/'], ['/login/x']],
    ['/', ['/', '//', ''], ['/x']],
    ['/*', ['/', '', '/x', '/x/y/', '//'], []],
    ['*', ['/', '', '/x'], []],
    ['/api/*', ['/api', '/api/', '/api/x', '/api/x/y'], ['/', '/ap', '/apis', '/x/api/y', '/API/x']],
    ['/api*', ['/api', '/apis', '/api/x'], ['/', '/ap', '/x/api']],
    [
      '/users/*/orders',
      ['/users/1/orders', '/users/1/orders/', '/users//orders'],
      ['/users/orders', '/users/1/2/orders'],
    ],
    ['/users/*/orders', [], ['/users/1/orders/7', '/users/1/order']],
    ['/users/*/orders/*', ['/users/1/orders', '/users/1/orders/7', '/users/1/orders/7/x'], ['/users/1/x', '/users/1']],
    ['/v*/api/*', ['/v1/api', '/v/api/x', '/v1.2/api/x/y'], ['/1/api', '/v1/x/api']],
    [
      '/files/*.zip',
      ['/files/a.zip', '/files/.zip', '/files/a.b.zip/'],
      ['/files/a.zip/b', '/files/a/b.zip', '/files/a.tar'],
    ],
    ['/files/a*b*', ['/files/ab', '/files/axb', '/files/axbc/d'], ['/files/a', '/files', '/files/a/b']],
  ])('%s', (text, matching, others) => {
    const pattern = new PathPattern(text);

    expect(matching.filter((path) => !pattern.matches(path))).toEqual([]);
    expect(others.filter((path) => pattern.matches(path))).toEqual([]);
  });

  it('compares without capitals where it is asked to', () => {
    const pattern = new PathPattern('/API/*/Orders');

    expect(pattern.hasCapitals).toBe(true);
    expect(pattern.matches('/API/1/Orders')).toBe(true);
    expect(pattern.matches('/api/1/orders')).toBe(false);
    expect(pattern.matchesSmall('/api/1/orders')).toBe(true);
  });
});
