import { describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { consume, get, post, useServe } from './serving.ts';

const serving = useServe();
const LIMITS = `domain: edge
descriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 5 } }]
limits: { login: { fixedWindow: { limit: 2, window: 1h } } }
`;
const TOKEN = 'a-token-of-sixteen';

describe('the listener of operators', () => {
  it('shows the counters', async () => {
    const one = await serving.serve(['--config', serving.file(LIMITS)]);
    await consume(one, 'login');
    const admin = one.addresses['admin'] ?? '';

    expect(await get(admin, '/metrics')).toMatchObject({
      status: 200,
      body: expect.stringMatching(/^sluice_decisions_total\{.*outcome="allowed".*\} 1$/m),
    });
    expect(await get(admin, '/healthcheck')).toMatchObject({ status: 200 });
    expect((await post(admin, '/v1/reset', { keys: { login: 'key' } })).status).toBe(204);
    expect((await get(admin, '/auth')).status).toBe(404);
  });

  it('of every interface shows nothing to strangers, and resets for the token alone', async () => {
    const one = await serving.serve(['--config', serving.file(LIMITS), '--admin', '0.0.0.0:0', '--http', '0.0.0.0:0'], {
      env: { SLUICE_TOKEN: TOKEN },
    });
    const at = (name: string): string => (one.addresses[name] ?? '').replace('0.0.0.0', '127.0.0.1');
    const keys = { keys: { login: 'key' } };
    const authorization = `Bearer ${TOKEN}`;

    for (const name of ['admin', 'http']) expect((await get(at(name), '/metrics')).status).toBe(401);
    expect((await post(at('http'), '/v1/consume', keys)).status).toBe(200);
    expect((await post(at('http'), '/v1/reset', keys)).status).toBe(401);
    expect((await post(at('admin'), '/v1/reset', keys)).status).toBe(401);
    expect((await post(at('http'), '/v1/reset', keys, { authorization })).status).toBe(204);
    expect((await fetch(`http://${at('admin')}/metrics`, { headers: { authorization } })).status).toBe(200);
  });
});

describe('the environment of envoyproxy/ratelimit', () => {
  it('says where the files are and what is listened on, and no line for names that mean nothing here', async () => {
    serving.file(LIMITS);
    const one = await serving.serve(['--grpc', '0', '--http', '0', '--admin', '0'], {
      env: {
        RUNTIME_ROOT: join(serving.folder, '..'),
        RUNTIME_SUBDIRECTORY: '',
        RUNTIME_APPDIRECTORY: serving.folder.slice(serving.folder.lastIndexOf('/') + 1),
        USE_STATSD: 'true',
        LOG_LEVEL: 'debug',
      },
    });

    expect(await consume(one, 'login')).toBe(true);
    expect(one.printed.err).toBe('');
  });

  it('stops the start where it asks for other decisions', async () => {
    const { code, err } = await serving.run(['--config', serving.file(LIMITS)], { env: { BACKEND_TYPE: 'memcache' } });

    expect([code, err]).toEqual([2, expect.stringContaining('BACKEND_TYPE is not supported by this service')]);
  });
});
