import { describe, expect, it } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import { fixedWindow, rateLimit } from '@sluice/express';
import type { Express } from 'express';
import * as theirs from 'express-rate-limit';
import { served } from '../express-rate-limit/applications.ts';

async function statusesOf(
  setUp: (app: Express) => void,
  paths: readonly string[],
): Promise<readonly (number | undefined)[]> {
  const running = await served([], setUp);
  const statuses: (number | undefined)[] = [];
  for (const path of paths) statuses.push((await running.get(path)).status);
  await running.close();
  return statuses;
}

const denyLater: theirs.RateLimitExceededEventHandler = (_request, response, next) => {
  response.status(429);
  next();
};

/** The guide docs/guides/side-by-side.md, run. */
describe('express-rate-limit and Sluice in one application', () => {
  it('limit routes of their own, until the last one has moved', async () => {
    const statuses = await statusesOf(
      (app) => {
        app.use('/old', theirs.rateLimit({ limit: 1 }));
        app.use('/moved', ours.rateLimit({ limit: 1 }));
        app.use('/new', rateLimit({ policy: fixedWindow({ limit: 1, window: '1m' }) }));
      },
      ['/old', '/old', '/moved', '/moved', '/new', '/new'],
    );

    expect(statuses).toEqual([200, 429, 200, 429, 200, 429]);
  });

  it('are compared on the same requests: the drop-in reports, and the peer decides', async () => {
    const differing: string[] = [];
    const statuses = await statusesOf(
      (app) => {
        const report = { mode: 'report', requestPropertyName: 'trial', legacyHeaders: false } as const;
        app.use(ours.rateLimit({ ...report, limit: 2 }), theirs.rateLimit({ limit: 2, handler: denyLater }));
        app.use((request, response, next) => {
          const { used, limit } = (request as ours.AugmentedRequest)['trial'] as ours.RateLimitInfo;
          if (used > limit !== (response.statusCode === 429)) differing.push(request.url);
          next();
        });
      },
      ['/', '/', '/', '/'],
    );

    expect(statuses).toEqual([200, 200, 429, 429]);
    expect(differing).toEqual([]);
  });

  it('are compared in the options of Sluice: mode report tells what it would have denied', async () => {
    const decided: boolean[] = [];
    const statuses = await statusesOf(
      (app) => {
        app.use(
          rateLimit({
            policy: fixedWindow({ limit: 1, window: '1m' }),
            mode: 'report',
            headers: false,
            onDecision: ({ allowed }) => void decided.push(allowed),
          }),
          theirs.rateLimit({ limit: 2 }),
        );
      },
      ['/', '/', '/'],
    );

    expect(statuses).toEqual([200, 200, 429]);
    expect(decided).toEqual([true, false, false]);
  });
});
