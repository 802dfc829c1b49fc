import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, startRedis, tlsFixture, type RedisServer } from '@sluice/testkit';
import { documentedUser, runHere, runSluice, useCli, type Ran } from './sluice.ts';

const cli = useCli();
const inspectAt = (redis: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> =>
  runHere(['inspect', 'a', '--redis', redis], env);

describe('a Redis that cannot be used', () => {
  it.each<[string, (closed: string) => string, RegExp]>([
    [
      'no server listens',
      (closed) => `user:geheim@127.0.0.1:${closed}/3`,
      /1:\d+: connect ECONNREFUSED 127\.0\.0\.1:\d+$/,
    ],
    ['a wrong password is rejected', () => `sluice-cli:geheim@127.0.0.1:${String(cli.port)}`, /WRONGPASS/],
    ['there is no such database', () => `127.0.0.1:${String(cli.port)}/99`, /DB index is out of range/],
  ])('because %s is named without the password, in one line', async (_why, urlOf, message) => {
    const { code, out, err } = await inspectAt(`redis://${urlOf(String(await freePort()))}`);

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^sluice: cannot use Redis at 127\.0\.0\.1:\d+: [^\n]*$/);
    expect(err).toMatch(message);
    expect(err).not.toContain('geheim');
  });

  it('prints where the error came from with SLUICE_DEBUG=1', async () => {
    const args = ['inspect', 'a', '--redis', `redis://127.0.0.1:${String(await freePort())}`];
    const { err } = await runSluice(args, { SLUICE_DEBUG: '1' });

    expect(err).toMatch(/^ *at connect /m);
  });

  it('by its silence, also during a command, ends it after three seconds; it may have changed something', async () => {
    const hung = await startRedis();
    hung.pause();
    await cli.admin.call('CLIENT', 'PAUSE', '60000', 'WRITE'); // scripts among them, whatever they do
    const lines: readonly (readonly [line: string, port: number])[] = [
      ['inspect a', hung.port],
      ['policy list', cli.port],
      ['policy put orders fixedWindow --limit 7 --window 1m', cli.port],
    ];
    const all = lines.map(([line, port]) =>
      runSluice([...line.split(' '), '--redis', `redis://127.0.0.1:${String(port)}`]),
    );
    const ran = await Promise.all(all).finally(async () => {
      await cli.admin.call('CLIENT', 'UNPAUSE');
      hung.resume();
      await hung.stop();
    });

    const errors = lines.map(
      ([, port]) => `sluice: cannot use Redis at 127.0.0.1:${String(port)}: no answer within 3 s`,
    );
    errors[2] += '; the change may have been made anyway';
    expect(ran).toEqual(errors.map((err) => ({ code: 1, out: '', err })));
  });
});

describe('a Redis that denies writes', () => {
  it('names the missing right, also of a command in a script, and changes nothing', async () => {
    const rights = documentedUser().filter((word) => word.startsWith('+') && word !== '+hset');
    await cli.admin.call('ACL', 'SETUSER', 'reader', 'on', '>secret', '~sluice:*', '&sluice:*', ...rights);
    const redis = `redis://reader:secret@127.0.0.1:${String(cli.port)}`;

    const put = ['policy', 'put', 'orders', 'fixedWindow', '--limit', '5', '--window', '1m', '--app', 'web'];
    const { code, out, err } = await runHere([...put, '--redis', redis]);

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^sluice: Redis denies this user a command: .*https:\/\/sluice\.example\/packages\/cli/);
    expect(await cli.json('policy', 'list')).toEqual([]);
    expect((await runHere(['policy', 'list', '--redis', redis])).code).toBe(0);
  });
});

describe('a URL', () => {
  it.each(['localhost', 'localhost:6379', 'http://127.0.0.1', 'redis://user:geh%im@host:port', ''])(
    'that is invalid is rejected: %j',
    async (url) => {
      const { code, err } = await inspectAt(url);

      expect(code).toBe(2);
      expect(err).toContain('a Redis URL looks like redis://user:password@host:6379/0');
      expect(err).not.toContain('geh');
    },
  );

  it('can select a database', async () => {
    await cli.admin.set('sluice:{a}:api:2f', 'hello');

    const { out } = await inspectAt(`redis://127.0.0.1:${String(cli.port)}/1`);

    expect(out).toMatch(/^no state: no key is a, or has it as one of its parts\n/);
  });

  it('can hold a percent-encoded password', async () => {
    const rights = documentedUser().slice(3);
    await cli.admin.call('ACL', 'SETUSER', 'odd@user', 'on', '>p@ss/w:rd%', ...rights);

    const { code } = await inspectAt(
      `redis://${encodeURIComponent('odd@user')}:${encodeURIComponent('p@ss/w:rd%')}@127.0.0.1:${String(cli.port)}`,
    );

    expect(code).toBe(0);
  });

  it('from the environment is not printed in the help', async () => {
    const { code, out, err } = await runHere(['--help'], { SLUICE_REDIS: 'redis://u:geheim@host' });

    expect(code).toBe(0);
    expect(out).toContain('SLUICE_REDIS');
    expect(out + err).not.toContain('geheim');
  });
});

describe('over TLS', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis([], { tls: true });
  });
  afterAll(() => server.stop());

  it('a trusted certificate is necessary and sufficient', async () => {
    const args = ['inspect', 'a', '--redis', server.url];
    const trusting = await runSluice(args, { NODE_EXTRA_CA_CERTS: tlsFixture.caFile });
    const wary = await inspectAt(server.url);

    expect(trusting).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^no state: no key is a,/) as unknown,
      err: '',
    });
    expect(wary.code).toBe(1);
    expect(wary.err).toMatch(/certificate/);
  });
});

describe('a command line', () => {
  it('without a command prints the commands', async () => {
    const { code, err } = await runHere([]);

    expect(code).toBe(2);
    expect(err).toContain('Usage: sluice');
  });

  it.each([
    [['inpect', 'a'], "unknown command 'inpect'; --help lists the commands\n(Did you mean inspect?)"],
    [['policy', 'lst'], "unknown command 'lst'; --help lists the commands\n(Did you mean list?)"],
    [['policy', 'apply'], "unknown command 'apply'; --help lists the commands"],
    [['inspect'], "missing required argument 'key'"],
    [['inspect', 'a', 'b'], 'too many arguments'],
    [['inspect', 'a', '--jsn'], "unknown option '--jsn'"],
    [['inspect', ''], 'key must be a non-empty string'],
  ])('that is wrong gets a specific message: %j', async (args, expected) => {
    const { code, out, err } = await cli.sluice(...args);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(`sluice: ${expected}`);
    expect(err).not.toMatch(/^ *at /m);
  });

  it.each([
    ['is empty', '', 'got ""'],
    ['has braces', '{shop}', 'got "{shop}"; braces would move every key to one hash slot; write --prefix shop'],
  ])(
    'whose prefix %s is denied, whether it comes from a flag or from SLUICE_PREFIX',
    async (_what, prefix, message) => {
      const ran = await Promise.all([
        runHere(['inspect', 'a', '--prefix', prefix]),
        runHere(['serve', '--config', 'limits.yaml', '--check'], { SLUICE_PREFIX: prefix }),
      ]);

      expect(ran.map(({ code, out }) => [code, out])).toEqual([
        [2, ''],
        [2, ''],
      ]);
      for (const { err } of ran) expect(err).toContain(message);
    },
  );

  it('prints help and version', async () => {
    expect(await runSluice(['--version'])).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+/), err: '' });
    expect((await runHere(['help', 'policy'])).out).toContain('put [options] <name> <kind>');
    expect((await runHere(['policy', 'put', '--help'])).out).toContain('--reset');
  });

  it('prints for each command a help that fits a screen', async () => {
    const commands = ['', 'serve', 'simulate', 'policy put', 'policy override set', 'inspect', 'denied', 'block'];
    const helps = await Promise.all(commands.map((one) => runHere([...one.split(' ').filter(Boolean), '--help'])));

    for (const { out } of helps) {
      expect(out.split('\n').length).toBeLessThan(40);
      expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
    }
  });

  it.each<[string, readonly string[]]>([
    ['block', ['--for', '--reason']],
    ['policy override set', ['--reason']],
    ['policy override remove', ['--reason']],
  ])('marks in the help of %s what it needs', async (command, flags) => {
    const { out } = await runHere([...command.split(' '), '--help']);

    const required = out.split(/\n(?= *-)/).filter((text) => text.replace(/\s+/g, ' ').includes('(required)'));
    expect(required.map((text) => text.trim().split(' ')[0])).toEqual(flags);
  });

  it('needs only the rights listed in the reference', () => {
    expect(documentedUser().join(' ')).not.toMatch(/allkeys|allcommands|[+]@|~[*]|nopass/);
  });
});

describe('text from Redis or the command line', () => {
  it('sends no control characters to a terminal, in errors and in results', async () => {
    const app = 'x\u001b[31m\u009b31m';

    const put = await cli.sluice(...'policy put tricky fixedWindow --limit 1 --window 1m --app'.split(' '), app);
    const failed = await cli.sluice('policy', 'remove', app);

    expect(put.out).toContain('for x\\u{1b}[31m\\u{9b}31m');
    // eslint-disable-next-line no-control-regex -- exactly the characters that must not appear
    expect(put.out + failed.err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});
