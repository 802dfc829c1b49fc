import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Limiter, type StoreError } from '@sluice/old-core';
import { encodeSubject, hashTag, redisKey } from '@sluice/old-core/spi';
import { hashSlot } from '../../../src/stores/redis/cluster/hash-slot.ts';
import { startRedisCluster } from '@sluice/testkit';

const policy = fixedWindow({ limit: 10, window: '1h' });

async function failureOf(error: unknown): Promise<StoreError> {
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- clients may reject with anything
  const fail = (): Promise<never> => Promise.reject(error);
  const store = redisStore({ evalsha: fail, eval: fail }, { prefix: 'sluice' });
  return createLimiter({ policy, store, onStoreError: 'throw' })
    .consume('key')
    .then(
      () => Promise.reject(new Error('was decided')),
      (failure: unknown) => failure as StoreError,
    );
}

describe('the kind of a failure', () => {
  it.each([
    ['LOADING Redis is loading the dataset in memory', 'loading'],
    ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'busy'],
    ["OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:1.", 'oom'],
    ["READONLY You can't write against a read only replica.", 'readonly'],
    ['NOPERM this user has no permissions to run the "evalsha" command', 'denied'],
    ['NOAUTH Authentication required.', 'denied'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'denied'],
    ['ERR ACL failure in script: No permissions to access a key', 'denied'],
    ["The user executing the script can't run this command or subcommand script: abc", 'denied'],
    [
      "ERR Error running script (call to f_abc): @user_script:213: @user_script: 213: -READONLY You can't write against a read only replica.",
      'readonly',
    ],
    [
      'ERR Error running script (call to f_abc): @user_script:213: @user_script: 213: -OOM command not allowed when used memory > maxmemory.',
      'oom',
    ],
    ['Socket timeout. Expecting data, but did not receive any in 3000ms.', 'timeout'],
    ['CLUSTERDOWN The cluster is down', 'cluster'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'cluster'],
    ['MASTERDOWN Link with MASTER is down', 'cluster'],
    ['MOVED 866 127.0.0.1:7001', 'cluster'],
    ['connect ECONNREFUSED 127.0.0.1:6379', 'other'],
    ['Connection is closed.', 'connection'],
    ["Stream isn't writeable and enableOfflineQueue options is false", 'connection'],
    ['The client is closed', 'connection'],
    ['Socket closed unexpectedly', 'connection'],
    ['Command timed out', 'timeout'],
    ['toString is not a function', 'other'],
    ['constructor', 'other'],
  ])('of "%s" is %s', async (message, kind) => {
    expect((await failureOf(new Error(message))).kind).toBe(kind);
  });

  it('is read from the code of the error, and from its cause', async () => {
    const denied = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

    expect((await failureOf(denied)).kind).toBe('connection');
    expect((await failureOf(new Error('gave up', { cause: denied }))).kind).toBe('connection');
  });

  it('is told of what is no error at all', async () => {
    expect(await failureOf('NOAUTH')).toMatchObject({ code: 'SLUICE_STORE_FAILED', kind: 'denied' });
    expect(await failureOf(undefined)).toMatchObject({ code: 'SLUICE_STORE_FAILED', kind: 'other' });
  });
});

describe('the message of a failure', () => {
  it.each([
    [
      'NOAUTH Authentication required.',
      '; Redis asks for a password: put it into the URL (redis://:password@host:6379)',
    ],
    ['NOAUTH HELLO must be called with the client already authenticated', '; Redis asks for a password: put it into'],
    ['WRONGPASS invalid username-password pair or user is disabled.', '; the user or the password of the URL'],
  ])('%s says where the password belongs', async (message, hint) => {
    expect((await failureOf(new Error(message))).message).toContain(message + hint);
  });

  it('does not tell the subject of a key', async () => {
    const error = new Error('NOPERM No permissions to access the key sluice:{ann@example.com}:default:2f');

    expect((await failureOf(error)).message).not.toContain('ann@example.com');
  });
});

describe('a cause that is its own cause', () => {
  it('is looked at once', async () => {
    const error = new Error('odd');
    error.cause = error;

    expect((await failureOf(error)).kind).toBe('other');
  });
});

describe('a reply that is none', () => {
  const limiterOn = (reply: unknown): Limiter => {
    const answer = (): Promise<unknown> => Promise.resolve(reply);
    const store = redisStore({ evalsha: answer, eval: answer }, { prefix: 'sluice', check: false });
    return createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
  };

  it.each<[string, unknown]>([
    ['no text', null],
    ['a list', [1_795_262_400_250, '']],
    ['a number', 1_795_262_400_250],
    ['empty', ''],
    ['without a line for the value: a missing value is not a key that was never used', '1795262400250'],
    ['an instant alone that could be a value', '1795262400250000001'],
    ['without an instant', '\n'],
    ['an instant that is true', 'true\n'],
    ['an instant in hexadecimal', '0x10\n'],
    ['an instant with a space', ' 1795262400250\n'],
    ['an instant of 0', '0\n'],
    ['an instant that is not exact', '9007199254740993\n'],
  ])('is an error of a usual decision: %s', async (_what, reply) => {
    await expect(limiterOn(reply).consume('key')).rejects.toMatchObject({ code: 'SLUICE_STORE_REPLY_INVALID' });
  });

  it.each<[string, unknown]>([
    ['text', '1795262400250\n'],
    ['bytes', Buffer.from('1795262400250\n')],
    ['bytes with a long instant', Buffer.from('1795262400250000\n')],
  ])('of a usual decision may be %s', async (_what, reply) => {
    expect((await limiterOn(reply).consume('key')).remaining).toBe(9);
  });

  it.each<[string, unknown]>([
    ['too short: a missing value is not a key that was never used', [1_795_262_400_250]],
    ['no text', [1_795_262_400_250, 17, null]],
    ['an instant that is true', [true, '']],
    ['an instant in hexadecimal', ['0x10', '']],
    ['an instant that is a list', [[1_795_262_400_250], '']],
    ['a value that is a number', [1_795_262_400_250, 17]],
    ['a value that is an object', [1_795_262_400_250, {}]],
    ['a text', '1795262400250\n'],
  ])('is an error: %s', async (_what, reply) => {
    await expect(limiterOn(reply).peek('key')).rejects.toMatchObject({ code: 'SLUICE_STORE_REPLY_INVALID' });
  });

  it.each<[string, unknown]>([
    ['strings', ['1795262400250', '']],
    ['bigints', [1_795_262_400_250n, '']],
    ['bytes', [1_795_262_400_250, new Uint8Array(0)]],
  ])('may be told in %s', async (_what, reply) => {
    expect((await limiterOn(reply).peek('key')).remaining).toBe(10);
  });
});

describe('a password', () => {
  it.each([
    { store: 'redis://user:hunter2@redis.internal:6379' },
    { store: 'redis://user:hun/hunter2@redis.internal:6379' },
    { store: 'redis://user:hun@hunter2@redis.internal:6379' },
    { redis: 'redis://user:hunter2@redis.internal:6379' },
  ])('does not stand in the error about %j', (options) => {
    let message = '';
    try {
      createLimiter({ policy, ...options } as never);
    } catch (error) {
      message = String(error);
    }

    expect(message).toMatch(/PolicyError/);
    expect(message).not.toContain('hunter2');
  });
});

describe('a URL that is none', () => {
  it.each(['redis://:hun?ter2@redis.internal', 'redis://:hun#ter2@redis.internal', 'redis://u:hunter2@h/x'])(
    '%s: shows no password',
    (url) => {
      let message = '';
      try {
        redisStore(url, { prefix: 'sluice' });
      } catch (error) {
        message = String(error);
      }

      expect(message).toMatch(/SLUICE_OPTION_INVALID/);
      expect(message).not.toMatch(/hun|ter2/);
    },
  );
});

describe('the hash slot of a subject', () => {
  it('is the one the server computes', async () => {
    const cluster = await startRedisCluster(1);
    const subjects = [
      'a',
      'ann',
      '192.0.2.1',
      '2001:db8::/64',
      '#Vh1zMzRkYQ9p2v0mS4kXAg',
      '123456789',
      '~'.repeat(256),
    ];
    subjects.push(
      'two words',
      'two\nlines',
      '\u0000',
      'Käthe',
      'a日本語z',
      '👩‍👩‍👧',
      '日'.repeat(256),
      '{user}',
      '\ud800',
      '#a',
    );
    const tags = subjects.map((subject) => hashTag(encodeSubject(subject)));

    const slots = await Promise.all(
      subjects.map(async (subject) => cluster.admin.slotOf(redisKey('sluice', encodeSubject(subject), ':default:2f'))),
    );
    await cluster.stop();

    expect(tags.map(hashSlot)).toEqual(slots);
  });
});
