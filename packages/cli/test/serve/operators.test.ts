import { describe, expect, it } from '@jest/globals';
import { until, useRedis } from '@sluice/testkit';
import { runHere } from '../sluice.ts';
import { consume, useServe, type Serving } from './serving.ts';

const serving = useServe();
const LIMITS = `domain: edge
descriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 5 } }]
limits: { login: { fixedWindow: { limit: 2, window: 1h } } }
`;
const TOKEN = 'a-token-of-sixteen';

const redis = useRedis();
const at = ({ addresses }: Serving): readonly string[] => ['--service', `http://${addresses['admin'] ?? ''}`];

describe('a service that denies', () => {
  it('says whom most, and blocks a key in its memory', async () => {
    const one = await serving.serve(['--config', serving.file(LIMITS)]);
    for (let i = 0; i < 5; i++) await consume(one, 'login', 'ann\u202e');

    const denied = await runHere(['denied', ...at(one)]);
    const asJson = await runHere(['denied', ...at(one), '--json']);
    const why = ['--limit', 'login', '--reason', 'x', '--by', 'ops'];
    const blocked = await runHere(['block', 'bob', ...why, '--for', '10m', ...at(one)]);
    const isDenied = !(await consume(one, 'login', 'bob'));
    const unblocked = await runHere(['unblock', 'bob', ...why, ...at(one)]);
    const isAllowed = await consume(one, 'login', 'bob');
    const reset = await runHere(['reset', 'ann\u202e', ...why, ...at(one)]);
    const events = await runHere(['events', '--key', 'bob', '--limit', 'login', ...at(one)]);
    const none = await runHere(['events', '--key', 'eve', ...at(one)]);

    expect(denied.out).toMatch(
      /^from .*\nKEY +LIMITER +POLICY +DENIALS +LAST DENIED\nann\\u\{202e\} +service +login +3 +\S+Z: .*2 of 2 in 1h$/,
    );
    expect(JSON.parse(asJson.out)).toMatchObject({ keys: [{ key: 'ann\u202e', policy: 'login', count: 3 }] });
    expect([blocked, unblocked, reset].map(({ code, out }) => [code, out])).toEqual([
      [0, expect.stringMatching(/^blocked bob under login until \S+Z \(in 10m\), by ops: x$/)],
      [0, 'unblocked bob under login, by ops: x'],
      [0, 'reset ann\\u{202e} under login, by ops: x'],
    ]);
    expect([isDenied, isAllowed, await consume(one, 'login', 'ann\u202e')]).toEqual([true, true, true]);
    expect(events.out).toMatch(
      /\n\S+ +unblock +service:login +bob .* ops +x\n\S+ +block +service:login +bob .* ops +x$/,
    );
    expect(none.out).toBe(`no events of the key eve at ${String(at(one)[1])}`);
  });

  it('is asked at its admin listener, as the help and the answer of another one say', async () => {
    const one = await serving.serve(['--config', serving.file(LIMITS), '--http', '0']);

    const { code, err } = await runHere(['denied', '--service', `http://${one.addresses['http'] ?? ''}`]);

    expect([code, err]).toEqual([
      1,
      expect.stringContaining('--service takes the admin listener of a service, such as'),
    ]);
    expect(err).toContain('answers 404');
    expect((await runHere(['denied', '--help'])).out).toContain('the service, as http://127.0.0.1:6070');
  });

  it('on Redis sees a block by its keys, as every process does', async () => {
    const args = ['--config', serving.file(LIMITS), '--redis', redis.server.url, '--timeout', '10s'];
    const one = await serving.serve(args);
    // A first connection that takes too long is waited for by no call: the service counts by itself until then.
    await until('it counts in Redis', async () => {
      await consume(one, 'login', 'bob');
      return (await redis.admin.exists('sluice:{bob}:service:login')) === 1;
    });
    await consume(one, 'login', 'ann');

    const { code, out } = await runHere([
      ...['block', 'ann', '--limit', 'service:login', '--for', '10m', '--reason', 'x', '--by', 'ops'],
      ...['--redis', redis.server.url],
    ]);

    expect([code, out]).toEqual([0, expect.stringMatching(/^blocked ann under service:login until .*, by ops: x$/)]);
    expect(await consume(one, 'login', 'ann')).toBe(false);
  });

  it('tells strangers nothing, and takes the token', async () => {
    const args = ['--config', serving.file(LIMITS), '--admin', '0.0.0.0:0'];
    const one = await serving.serve(args, { SLUICE_TOKEN: TOKEN });
    const service = `http://${(one.addresses['admin'] ?? '').replace('0.0.0.0', '127.0.0.1')}`;
    const block = ['block', 'ann', '--limit', 'login', '--for', '1m', '--reason', 'x', '--service', service];

    const strangers = await Promise.all([runHere(['denied', '--service', service]), runHere(block)]);
    const known = await Promise.all([
      runHere(['denied', '--service', service, '--token', TOKEN]),
      runHere([...block, '--token', TOKEN]),
    ]);

    expect(strangers.map(({ code, err }) => [code, /answers 401/.test(err)])).toEqual([
      [1, true],
      [1, true],
    ]);
    expect(known.map(({ code }) => code)).toEqual([0, 0]);
    expect(known[0].out).toMatch(/no key was denied$/);
  });

  it.each([
    [
      'a limit that it does not have',
      ['block', 'ann', '--limit', 'other', '--for', '1m', '--reason', 'x'],
      1,
      'known: login',
    ],
    ['no URL', ['denied', '--service', 'localhost'], 2, '--service must be a URL'],
    [
      'a port without a listener',
      ['denied', '--service', 'http://127.0.0.1:1'],
      1,
      'cannot use the service at 127.0.0.1:1',
    ],
  ])('is not asked with %s', async (_what, command, exitCode, why) => {
    const one = await serving.serve(['--config', serving.file(LIMITS)]);

    const { code, err } = await runHere(command.includes('--service') ? command : [...command, ...at(one)]);

    expect([code, err]).toEqual([exitCode, expect.stringContaining(why)]);
  });
});
