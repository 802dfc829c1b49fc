import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/express';
import { startPlace, untilShared, type Answer, type App, type OutageSetup } from './outage-place.ts';

const policy = fixedWindow({ limit: 4, window: '1h', name: 'orders' });

const FAULTS: readonly { is: string; begin: (place: OutageSetup) => unknown }[] = [
  {
    is: 'hung',
    begin: ({ server }) => {
      server.pause();
    },
  },
  { is: 'killed', begin: async ({ server }) => server.kill() },
];

/** The header fields that tell a client of its limits. */
const told = ({ headers }: Answer): { policy: string | null; state: string | null } => ({
  policy: headers.get('ratelimit-policy'),
  state: headers.get('ratelimit')?.replace(/;t=\d+/, '') ?? null,
});

describe.each(FAULTS)('while Redis is $is', ({ begin }) => {
  let place: OutageSetup;
  const apps: Record<string, App> = {};
  beforeAll(async () => {
    place = await startPlace();
    const { storeUrl } = place.server;
    apps['deny'] = await place.start(storeUrl, { policy, onStoreError: 'deny' });
    apps['allow'] = await place.start(storeUrl, { policy, onStoreError: 'allow' });
    apps['throw'] = await place.start(storeUrl, { policy, onStoreError: 'throw' });
    apps['local'] = await place.start(storeUrl, { policy });
    apps['other local'] = await place.start(storeUrl, { policy });
    apps['half'] = await place.start(storeUrl, { policy, localShare: 0.5 });
    await untilShared(...Object.values(apps));
    await begin(place);
  });
  afterAll(async () => {
    await place.end();
  });
  /** Until its breaker has opened, and twice after that. */
  const eight = async (mode: string): Promise<readonly Answer[]> => {
    const app = apps[mode] as App;
    return [...(await app.sendMany(6, `${mode}-away`)), await app.send(`${mode}-away`), await app.send(`${mode}-away`)];
  };

  it('deny answers 503, says nothing of limits, and is not to be cached', async () => {
    const answers = await eight('deny');

    for (const answer of answers) {
      expect(answer.status).toBe(503);
      expect(told(answer)).toEqual({ policy: null, state: null });
      expect(answer.headers.get('retry-after')).toBeNull();
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(JSON.parse(answer.body)).toEqual({ type: 'about:blank', title: 'Service Unavailable', status: 503 });
    }
    expect(apps['deny']?.breaker()).not.toBe('closed');
  });

  it('allow lets every request pass, and says nothing of limits', async () => {
    const answers = await eight('allow');

    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 200, body: 'passed', source: 'none' });
      expect(told(answer)).toEqual({ policy: null, state: null });
    }
  });

  it('throw hands every request to the error handler, with a code', async () => {
    const answers = await eight('throw');

    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(500));
    for (const { body } of answers.slice(0, 6)) {
      expect(['SLUICE_STORE_TIMEOUT', 'SLUICE_STORE_FAILED', 'SLUICE_BREAKER_OPEN']).toContain(body);
    }
    expect(answers.slice(6).map(({ body }) => body)).toEqual(['SLUICE_BREAKER_OPEN', 'SLUICE_BREAKER_OPEN']);
  });

  it('local tells each client what is left of the limit in this process', async () => {
    const app = apps['local'] as App;
    const answers: Answer[] = [];
    for (let i = 0; i < 6; i++) answers.push(await app.send('one-by-one'));
    const elsewhere = await (apps['other local'] as App).send('one-by-one');

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429, 429]);
    expect(answers.map((answer) => told(answer).state)).toEqual(
      [3, 2, 1, 0, 0, 0].map((left) => `"orders";r=${String(left)}`),
    );
    expect(new Set(answers.map((answer) => told(answer).policy))).toEqual(new Set(['"orders";q=4;w=3600']));
    expect(Number(answers[4]?.headers.get('retry-after'))).toBeGreaterThan(3500);
    expect(told(elsewhere).state).toBe('"orders";r=3');
  });

  it('localShare: the share is the limit, and what clients are told', async () => {
    const app = apps['half'] as App;
    const answers: Answer[] = [];
    for (let i = 0; i < 3; i++) answers.push(await app.send('half'));

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers.map(told)).toEqual(
      [1, 0, 0].map((left) => ({ policy: '"orders";q=2;w=3600', state: `"orders";r=${String(left)}` })),
    );
  });
});
