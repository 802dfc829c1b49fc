import { describe, expect, it } from '@jest/globals';
import { listReadings } from '@sluice/core/spi';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import type { ForwardAuthRule } from '../../src/config/configuration.ts';
import { RouteTable } from '../../src/forward-auth/route-table.ts';
import { PIECES, upstreams } from './upstream-models.ts';

describe('the readings of a path', () => {
  it.each(['/', '/orders/17', '/Orders', '/a.b/c..d/e', '/.well-known/x', "/~!$&'()*+,=:@-_", '/orders/'])(
    'are one where upstreams agree: %s',
    (path) => {
      expect(listReadings(path)).toEqual([path]);
    },
  );

  it('are few for what clients write without a mistake', () => {
    const paths = [
      '/wiki/%E3%81%82%E3%81%84',
      '/a%20b/c',
      '/projects/group%2Fname',
      '/x;v=1',
      '/c%23',
      `/${'%41'.repeat(900)}`,
    ];

    expect(paths.map((path) => listReadings(path)?.length)).toEqual([2, 2, 2, 2, 3, 2]);
  });

  it.each([
    ['that is decoded again and again', `/%${'25'.repeat(40)}61`],
    ['with every trick at once', '//h/%2e%2e;x/%5c..%252f%3b./%00/..%20#'],
    ['that is long', `/${'%41'.repeat(3000)}`],
  ])('are not listed of a path %s', (_what, path) => {
    expect(listReadings(path)).toBeUndefined();
  });

  it.each([
    ...['.', '..', '%2e', '%', '%25', ';', '\\', '#', '\0', ' ', 'a.', './', '/', '//', '%2f', '\xff'],
    ...['/..', '/.;', 'a%20', '%5c.', '.a', '..a'],
  ])('are found in time for thousands of %j', (piece) => {
    // An expression that goes back takes minutes for one of these.
    const readings = listReadings(`/${piece.repeat(16_000 / piece.length)}%`) ?? [];

    expect(readings.length).toBeLessThanOrEqual(16);
  });
});

const rule = (name: string, paths: readonly string[], skip = false): ForwardAuthRule => ({
  ...{ name, skip, key: ['ip'], cost: 1, policy: undefined, limit: undefined },
  match: { paths, methods: [] },
});

describe('the routes that a request is held to', () => {
  const rules = [rule('static', ['/static/*'], true), rule('login', ['/login']), rule('rest', ['/*'])];
  const table = new RouteTable(rules);
  /** By other means: the first rule of a path as an upstream compares it, with capitals or without. */
  const ruleOf = (path: string, matchesCase: boolean): ForwardAuthRule | undefined => {
    const compared = (matchesCase ? path : path.toLowerCase()).replace(/\/+$/, '');
    if (compared === '/static' || compared.startsWith('/static/')) return rules[0];
    return compared === '/login' ? rules[1] : rules[2];
  };

  it('hold that of every upstream, whatever the spelling', () => {
    let [decided, tooMany] = [0, 0];
    /** The upstreams that route a target to a rule that the request is not held to. */
    const escapesOf = (target: string, matchesCase: boolean): readonly string[] => {
      const found = table.find(target.split('?')[0] as string, 'GET');
      if (found === undefined) tooMany++;
      else decided++;
      return Object.entries(upstreams).flatMap(([name, upstream]) => {
        const path = upstream(target);
        if (path === undefined || found === undefined) return [];
        const routed = ruleOf(path.startsWith('/') ? path : `/${path}`, matchesCase);
        return routed?.skip === true || found.some((route) => route.rule === routed) ? [] : [name];
      });
    };

    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        (pieces, matchesCase) => {
          const escapes = escapesOf(`/${pieces.join('')}`, matchesCase);
          if (escapes.length > 0) throw new Error(escapes.join(', '));
        },
      ),
      { numRuns: cases(10_000), seed: testSeed(7) },
    );

    expect(tooMany).toBeLessThan(decided / 3); // of targets that hold two or three tricks at once
  });
});

describe('a request that a pattern which ignores capitals takes for /users/:id/orders', () => {
  const table = new RouteTable([rule('orders', ['/users/*/orders']), rule('rest', ['/*'])]);

  it.each(['/u%C5%BFers/9/orders', '/USERS/9/order%c5%bf'])('is held to its limit: %s', (target) => {
    expect(decodeURIComponent(target)).toMatch(/^\/users\/\d+\/orders$/iu);
    expect(table.find(target, 'POST')?.map((route) => route.rule.name)).toContain('orders');
  });
});
