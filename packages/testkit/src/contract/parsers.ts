import { expect } from '@jest/globals';
import { fixedWindow, tokenBucket } from '@sluice/old-core';
import type { HeadersOption } from '@sluice/old-http';
import { parseRateLimit } from 'ratelimit-header-parser';
import { decodeList } from 'structured-field-values';
import { parseList } from 'structured-headers';
import { fakeClock } from '../fake-clock.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';

/** 2026-11-21T12:00:00.250Z. */
const AT_MS = 1_795_262_400_250;

interface Member {
  readonly name: unknown;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Two independent readers of structured fields. */
const readers: readonly [string, (field: string) => Member[]][] = [
  [
    'structured-headers',
    (field) => parseList(field).map(([name, parameters]) => ({ name, parameters: Object.fromEntries(parameters) })),
  ],
  [
    'structured-field-values',
    (field) =>
      (decodeList(field) as { value: unknown; params: Member['parameters'] | null }[]).map(({ value, params }) => ({
        name: value,
        parameters: { ...params },
      })),
  ],
];

/** The values that independent parsers read from the fields. */
export function parsers(suite: Suite): void {
  const [memory] = suite.stores;

  describe.each(PLACES)('the fields of a limit %s', (place) => {
    it.each(readers)('are lists for %s, on responses and denials', async (_reader, read) => {
      const server = await suite.serve(
        {
          name: 'parsed',
          limits: [
            { name: 'Burst-1.x', policy: tokenBucket({ capacity: 2, refill: 3, every: '7s' }) },
            { name: 'per_day', policy: fixedWindow({ limit: 999_999_999_999_999, window: '1d' }) },
          ],
          ...memory.fresh(fakeClock(AT_MS)),
        },
        { place },
      );

      const answers = [await server.send(), await server.send(), await server.send()];

      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      for (const { headers } of answers) {
        expect(read(headers['ratelimit-policy'] ?? '')).toEqual([
          { name: 'Burst-1.x', parameters: { q: 2, w: 5 } },
          { name: 'per_day', parameters: { q: 999_999_999_999_999, w: 86_400 } },
        ]);
      }
      expect(answers.map(({ headers }) => read(headers['ratelimit'] ?? ''))).toEqual([
        [
          { name: 'Burst-1.x', parameters: { r: 1, t: 3 } },
          { name: 'per_day', parameters: { r: 999_999_999_999_998, t: 86_400 } },
        ],
        [
          { name: 'Burst-1.x', parameters: { r: 0, t: 3 } },
          { name: 'per_day', parameters: { r: 999_999_999_999_997, t: 86_400 } },
        ],
        [
          { name: 'Burst-1.x', parameters: { r: 0, t: 3 } },
          { name: 'per_day', parameters: { r: 999_999_999_999_997, t: 86_400 } },
        ],
      ]);
    });

    it.each<[string, HeadersOption]>([
      ['draft-7', 'draft-7'],
      ['draft-6', 'draft-6'],
      ['legacy in seconds from now', { legacy: 'delta' }],
    ])('as %s are read by ratelimit-header-parser', async (_format, headers) => {
      const policy = fixedWindow({ limit: 100, window: '60s' });
      const server = await suite.serve(
        { name: 'parsed', policy, cost: 30, headers, ...memory.fresh(fakeClock(AT_MS)) },
        { place },
      );
      await server.send();
      const answer = await server.send();

      const earliestMs = Date.now() + 60_000;
      const read = parseRateLimit(answer.headers);
      const latestMs = Date.now() + 60_000;

      expect(read).toMatchObject({ limit: 100, used: 60, remaining: 40 });
      expect(read?.reset?.getTime()).toBeGreaterThanOrEqual(earliestMs);
      expect(read?.reset?.getTime()).toBeLessThanOrEqual(latestMs);
    });

    it('as legacy in seconds since 1970 are read by ratelimit-header-parser', async () => {
      const policy = fixedWindow({ limit: 100, window: '60s' });
      const server = await suite.serve(
        { name: 'parsed', policy, cost: 30, headers: { legacy: 'epoch' }, ...memory.fresh(fakeClock(AT_MS)) },
        { place },
      );

      const answer = await server.send();

      expect(parseRateLimit(answer.headers as Record<string, string>)).toEqual({
        limit: 100,
        used: 30,
        remaining: 70,
        reset: new Date('2026-11-21T12:01:01Z'),
      });
    });
  });
}
