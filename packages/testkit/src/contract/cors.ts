import { expect } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import type { HeadersOption } from '@sluice/old-http';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';

const origin = { 'Access-Control-Allow-Origin': 'https://shop.example' };

/** The option `cors`: scripts of an allowed origin may read the fields (V18). */
export function cors(suite: Suite): void {
  describe.each(PLACES)('a limit %s', (place) => {
    const exposed = async (
      before: Readonly<Record<string, string>>,
      options: { readonly cors?: boolean; readonly headers?: HeadersOption },
    ): Promise<(string | undefined)[]> => {
      const server = await suite.serve(
        { name: 'cors', policy: fixedWindow({ limit: 1, window: '1h' }), ...options },
        { place, before },
      );
      const answers = [await server.send(), await server.send()];
      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
      expect(answers.map(({ headers }) => headers['access-control-allow-origin'])).toEqual(
        answers.map(() => before['Access-Control-Allow-Origin']),
      );
      return answers.map(({ headers }) => headers['access-control-expose-headers']);
    };

    it('with cors: true exposes its fields where an origin is allowed, on answers and denials', async () => {
      const fields = 'RateLimit, RateLimit-Policy, Retry-After';

      expect(await exposed(origin, { cors: true })).toEqual([fields, fields]);
    });

    it('with cors: true adds to an existing list, without duplicates', async () => {
      const before = { ...origin, 'Access-Control-Expose-Headers': 'X-Total, ratelimit,Retry-After' };
      const fields = 'X-Total, ratelimit, Retry-After, RateLimit-Policy';

      expect(await exposed(before, { cors: true })).toEqual([fields, fields]);
    });

    it('with cors: true exposes the fields of the format that it writes', async () => {
      const fields = 'Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';

      expect(await exposed(origin, { cors: true, headers: { legacy: 'delta' } })).toEqual([fields, fields]);
    });

    it('with cors: true exposes nothing where no origin is allowed', async () => {
      expect(await exposed({}, { cors: true })).toEqual([undefined, undefined]);
    });

    it.each([undefined, false])('with cors: %p does not change the list', async (given) => {
      const before = { ...origin, 'Access-Control-Expose-Headers': 'X-Total' };

      expect(await exposed(before, given === undefined ? {} : { cors: given })).toEqual(['X-Total', 'X-Total']);
    });
  });
}
