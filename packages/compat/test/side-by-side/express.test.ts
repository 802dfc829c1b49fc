import { describe, expect, it } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import { fixedWindow, rateLimit } from '@sluice/express';
import * as theirs from 'express-rate-limit';
import { serve } from '../express-rate-limit/applications.ts';

const policy = fixedWindow({ limit: 1, window: '1m' });

/** The guide docs/guides/side-by-side.md, run. */
describe('express-rate-limit and Sluice in one application', () => {
  it('limit routes of their own, until the last one has moved', async () => {
    const { statuses, close } = await serve([], (app) => {
      app.use('/old', theirs.rateLimit({ limit: 1 }));
      app.use('/moved', ours.rateLimit({ limit: 1 }));
      app.use('/new', rateLimit({ policy }));
    });

    expect(await statuses('/old', '/old', '/moved', '/moved', '/new', '/new')).toEqual([200, 429, 200, 429, 200, 429]);
    await close();
  });

  it('are compared on the same requests: the drop-in reports, and the peer decides', async () => {
    const used: unknown[] = [];
    const trial = ours.rateLimit({ limit: 2, mode: 'report', requestPropertyName: 'trial', legacyHeaders: false });
    const { statuses, close } = await serve([
      trial,
      (request, _response, next) => {
        used.push((request as ours.AugmentedRequest)['trial']?.used);
        next();
      },
      theirs.rateLimit({ limit: 2 }),
    ]);

    expect(await statuses('/', '/', '/', '/')).toEqual([200, 200, 429, 429]);
    await close();
    expect(used).toEqual([1, 2, 3, 4]);
  });

  it('are compared in the options of Sluice: mode report tells what it would have denied', async () => {
    const decided: boolean[] = [];
    const onDecision = ({ allowed }: { readonly allowed: boolean }): void => void decided.push(allowed);
    const limit = rateLimit({ policy, mode: 'report', headers: false, onDecision });
    const { statuses, close } = await serve([limit, theirs.rateLimit({ limit: 2 })]);

    expect(await statuses('/', '/', '/')).toEqual([200, 200, 429]);
    await close();
    expect(decided).toEqual([true, false, false]);
  });
});
