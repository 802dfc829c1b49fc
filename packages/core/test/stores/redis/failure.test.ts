import { describe, expect, it } from '@jest/globals';
import { slidingLog } from '../../../src/policies/sliding-log.ts';
import { redisStore } from '../../../src/stores/redis/redis-store.ts';
import { ask, failure } from './asks.ts';

/** The error of a decision whose client rejects with this. */
async function toStoreError(error: unknown): Promise<unknown> {
  const fail = (): Promise<never> => Promise.reject(error);
  return failure(redisStore({ evalsha: fail, eval: fail }, { prefix: 'sluice' }).perform('take', [ask('ann')]));
}

describe('the kind of a failure', () => {
  const noConnection = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  const odd = new Error('odd');
  odd.cause = odd;
  /** Errors whose messages say nothing. */
  const others = new Map<string, unknown>([
    ['of a code', noConnection],
    ['of a cause', new Error('gave up', { cause: noConnection })],
    ['of itself', odd],
    ['of nothing', undefined],
  ]);

  it.each<[message: string, kind: string, sent?: boolean]>([
    ['LOADING Redis is loading the dataset in memory', 'loading'],
    ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'busy'],
    ["OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:1.", 'oom'],
    ["READONLY You can't write against a read only replica.", 'readonly'],
    ['NOPERM this user has no permissions to run the "evalsha" command', 'denied'],
    ['NOAUTH Authentication required.', 'denied'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'denied'],
    ['ERR ACL failure in script: No permissions to access a key', 'denied'],
    ["The user executing the script can't run this command or subcommand script: abc", 'denied'],
    ["ERR Error running script (call to f_abc): @user_script:213: -READONLY You can't write against a", 'readonly'],
    ['Socket timeout. Expecting data, but did not receive any in 3000ms.', 'timeout'],
    ['CLUSTERDOWN The cluster is down', 'cluster'],
    ['MASTERDOWN Link with MASTER is down', 'cluster'],
    ['MOVED 866 127.0.0.1:7001', 'cluster'],
    ['Connection is closed.', 'connection', true],
    ['Command aborted due to connection close', 'connection'],
    ["Stream isn't writeable and enableOfflineQueue options is false", 'connection', false],
    ['The client is closed', 'connection'],
    ['Socket closed unexpectedly', 'connection'],
    ['Command timed out', 'timeout'],
    ['toString is not a function', 'other'],
    ['constructor', 'other'],
    ['of a code', 'connection'],
    ['of a cause', 'connection'],
    ['of itself', 'other'],
    ['of nothing', 'other'],
  ])('of "%s" is %s', async (message, kind, ...[sent]) => {
    const error = (await toStoreError(others.has(message) ? others.get(message) : new Error(message))) as Error;

    expect(error).toMatchObject({ code: 'SLUICE_STORE_FAILED', kind, ...(sent !== undefined && { sent }) });
    if (message === 'NOAUTH Authentication required.') {
      expect(error.message).toContain('put it in the URL (redis://:password@host:6379)');
    }
  });
});

describe('a failure', () => {
  it('tells neither the subject of a key nor the arguments of the call', async () => {
    const error = Object.assign(new Error('NOPERM No permissions to access the key sluice:{ann@example.com}:default'), {
      command: { name: 'evalsha', args: ['sluice:{ann@example.com}:default'] },
    });

    const told = (await toStoreError(error)) as Error;

    expect(told.message).not.toContain('ann@example.com');
    expect(told.cause).not.toHaveProperty('command');
  });

  it('is one of the decision if the client throws at once', async () => {
    const evalsha = (): never => {
      throw new Error('Connection is closed.');
    };
    const store = redisStore({ evalsha, eval: evalsha }, { prefix: 'sluice' });

    expect(await failure(store.perform('take', [ask('ann')]))).toMatchObject({ kind: 'connection' });
  });
});

describe('a reply', () => {
  const storeOn = (reply: unknown) => {
    const answer = (): Promise<unknown> => Promise.resolve(reply);
    return redisStore({ evalsha: answer, eval: answer }, { prefix: 'sluice' });
  };

  it.each<[string, unknown]>([
    ['no text', null],
    ['a list', [1_795_262_400_250, '']],
    ['a number', 1_795_262_400_250],
    ['empty', ''],
    ['without a line for the value: a missing value is not a key that was never used', '1795262400250'],
    ['with a line too many', '1795262400250\n\n'],
    ['without an instant', '\n'],
    ['an instant that is no number', 'true\n'],
    ['an instant in hexadecimal', '0x10\n'],
    ['an instant with a space', ' 1795262400250\n'],
    ['an instant of 0', '0\n'],
    ['an instant that is not exact', '9007199254740993\n'],
  ])('is an error of every request of its call: %s', async (_what, reply) => {
    const store = storeOn(reply);

    const errors = await Promise.all(['ann', 'ann'].map((key) => failure(store.perform('take', [ask(key)]))));

    for (const error of errors) expect(error).toMatchObject({ code: 'SLUICE_STORE_REPLY_INVALID', kind: 'reply' });
  });

  it.each(['1,2', 'x,1,1,1,1,1,1,1'])('with odd figures is an error: %j', async (figures) => {
    const log = ask('ann', slidingLog({ limit: 5, window: '1m' }));
    const failed = failure(storeOn(`1795262400250\n${figures}`).perform('take', [log]));

    expect(await failed).toMatchObject({ code: 'SLUICE_STORE_REPLY_INVALID' });
  });
});
