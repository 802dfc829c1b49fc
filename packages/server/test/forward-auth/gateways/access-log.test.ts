import { describe, expect, it } from '@jest/globals';
import { fakeClock } from '@sluice/core/testing';
import { byIp, byRoute, fixedWindow, memoryStore, rateLimit } from '@sluice/express';
import { memoryStore as oldMemoryStore } from '@sluice/old-core';
import { listen, seeded } from '@sluice/testkit';
import { frameworks } from '../../../../express/test/frameworks.ts';
import { send, type Answer } from './client.ts';
import { nginx } from './nginx.ts';
import { useStack } from './stack.ts';

const [{ express }] = frameworks as [(typeof frameworks)[number]];
const REQUESTS = 800;
const CLIENTS = 40;
const HOUR_MS = 3_600_000;

interface Line {
  /** Since the line before. */
  readonly afterMs: number;
  readonly from: string;
  readonly method: string;
  readonly path: string;
}

/** Some days of requests. A few clients send most of them. */
function accessLog(): readonly Line[] {
  const random = seeded(20261123);
  return Array.from({ length: REQUESTS }, () => {
    const path = random.pick([
      '/',
      '/login',
      '/orders/1',
      '/orders/2?page=3',
      '/search?q=a',
      '/login/?next=/',
      '/app.js',
    ]);
    const client = random.percent(50) ? random.integer(1, 4) : random.integer(1, CLIENTS);
    return {
      afterMs: random.integer(0, random.percent(1) ? 9 * HOUR_MS : HOUR_MS / 5),
      from: `127.0.1.${String(client)}`,
      method: /login/i.test(path) && random.percent(80) ? 'POST' : 'GET',
      path,
    };
  });
}

const login = fixedWindow({ limit: 3, window: '1d', align: 'clock' });
const site = fixedWindow({ limit: 8, window: '1d', align: 'clock' });

const written = `
forward_auth:
  trusted_proxies: [127.0.0.1]
  rules:
    - name: login
      match: { paths: [/login], methods: [POST] }
      key: [ip, route]
      policy: { fixedWindow: { limit: 3, window: 1d, align: clock } }
    - name: site
      policy: { fixedWindow: { limit: 8, window: 1d, align: clock } }
`;

const fieldsOf = ({ status, headers }: Answer): readonly unknown[] => [
  ...[status, headers['ratelimit'], headers['ratelimit-policy'], headers['retry-after']],
];

describe('an access log, replayed in order through nginx', () => {
  const stack = useStack(nginx);

  it('has the same requests denied, with the same fields, as by the Express adapter', async () => {
    const log = accessLog();
    const [clock, clockOfExpress] = [fakeClock(), fakeClock()];
    await stack.configure(written, oldMemoryStore({ clock }));
    stack.serve((_asked, response) => response.end('done'));
    const app = express();
    const store = memoryStore({ clock: clockOfExpress });
    app.post(
      '/login',
      rateLimit({ name: 'login', policy: login, key: [byIp(), byRoute()], store }),
      (_asked, response) => {
        response.send('done');
      },
    );
    app.use(rateLimit({ name: 'site', policy: site, store }), (_asked, response) => {
      response.send('done');
    });
    const served = await listen(app);

    const [throughNginx, byExpress]: [Answer[], Answer[]] = [[], []];
    for (const { afterMs, ...sent } of log) {
      clock.advance(afterMs);
      clockOfExpress.advance(afterMs);
      throughNginx.push(await send(stack.ports.gateway, sent));
      byExpress.push(await send(served.port, sent));
    }
    await served.close();

    const denied = throughNginx.filter(({ status }) => status === 429).length;
    expect(throughNginx.map(fieldsOf)).toEqual(byExpress.map(fieldsOf));
    expect(denied).toBeGreaterThan(REQUESTS / 20);
    expect(denied).toBeLessThan(REQUESTS / 2);
    expect(new Set(byExpress.map(({ headers }) => headers['ratelimit-policy'])).size).toBe(2);
  });
});
