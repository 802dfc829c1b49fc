import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createLimiter, fixedWindow, type Limit, type StoreRequest } from '@sluice/old-core';
import { keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { remoteStore, type RemoteStore, type RemoteStoreOptions } from '@sluice/remote';
import { FRAME } from '@sluice/remote/wire';
import { freePort, until } from '@sluice/testkit';
import { WELCOME, startScripted, type ScriptedServer, type SentFrame } from './scripted-server.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

async function start(onFrame: (frame: SentFrame) => unknown = () => undefined, port?: number): Promise<ScriptedServer> {
  const server = await startScripted(onFrame, port);
  open.push(server);
  return server;
}

function storeOf(url: string | readonly string[], options: RemoteStoreOptions = {}): RemoteStore {
  const store = remoteStore(url, options);
  open.push(store);
  return store;
}

let limits = 0;
function newLimit(): Limit {
  const name = `limit-${String(limits++)}`;
  const policies = namePolicies(fixedWindow({ limit: 10, window: '1m' }), name);
  return { policies, keySuffix: keySuffixOf(name, policies), fastPathEligible: true };
}
const limit = newLimit();
const peek = (subject: string, of: Limit = limit): StoreRequest => ({
  op: 'peek',
  parts: [{ limit: of, subject, cost: 0 }],
});
const answerOf = (...numbers: readonly unknown[]): readonly unknown[] => [[1_000, [[true, [[false, ...numbers]]]]]];
const [blocked] = answerOf(10, 0, 5, 5, 0, 5, 0) as [readonly unknown[]];
const calls = ({ frames }: ScriptedServer): readonly SentFrame[] => frames.filter(({ type }) => type === FRAME.perform);

describe('calls over one connection', () => {
  it('go out at once, and are answered in any order', async () => {
    const server = await start();
    const store = storeOf(server.url);
    const answered: string[] = [];
    const performed = ['a', 'b', 'c'].map(async (subject) => {
      const answers = await store.perform([peek(subject)]);
      answered.push(subject);
      return answers;
    });
    await until('all have come', () => calls(server).length === 3);

    for (const frame of calls(server).toReversed()) frame.answer(FRAME.answers, [blocked]);

    expect((await Promise.all(performed)).flat()).toMatchObject(
      Array(3).fill({ atMs: 1_000, parts: [{ blocked: true }] }),
    );
    expect(answered).toEqual(['c', 'b', 'a']);
    expect(server.accepted).toBe(1);
  });

  it('name a limit once, and say how long their callers wait', async () => {
    const server = await start(({ type, answer }) => {
      if (type === FRAME.perform) answer(FRAME.answers, [blocked]);
    });
    const store = storeOf(server.url);

    await store.perform([peek('a')], { abandoned: false, endMs: performance.now() + 5_000 });
    await store.perform([peek('b')]);

    expect(server.frames.map(({ type }) => type)).toEqual([FRAME.limit, FRAME.perform, FRAME.perform]);
    const [first, second] = calls(server).map(({ text }) => text as readonly unknown[]);
    expect(first?.[0]).toBeGreaterThan(4_000);
    expect(first?.[0]).toBeLessThanOrEqual(5_000);
    expect(second).toEqual([null, ['peek', [[0, 'b', 0]]]]);
  });

  it('number limits again before there are too many, and never within a call', async () => {
    const named = new Map<number, unknown>();
    let forgets = 0;
    const server = await start(({ type, id, text, answer }) => {
      if (type === FRAME.limit) named.set(id, text);
      if (type === FRAME.forget) {
        forgets++;
        named.clear();
      }
      if (type !== FRAME.perform) return;
      const requests = (text as unknown[]).slice(1) as readonly [string, [[number]]][];
      const known = requests.every(([, [[number]]]) => named.has(number));
      answer(
        FRAME.answers,
        requests.map(() => (known ? blocked : { code: 'x', message: 'not named', kind: 'other' })),
      );
    });
    const store = storeOf(server.url);

    for (let i = 0; i < 50; i++) {
      const requests = Array.from({ length: 100 }, () => peek('key', newLimit()));
      const answers = await store.perform(requests);
      expect(answers.filter((answer) => answer instanceof Error)).toEqual([]);
    }

    expect(forgets).toBeGreaterThanOrEqual(2);
    expect(Math.max(...named.keys())).toBeLessThan(4096);
  });

  it.each([
    [
      'an answer to a call that it did not get',
      (frame: SentFrame) => {
        frame.answer(FRAME.answers, [blocked], 99);
      },
    ],
    [
      'a call of its own',
      (frame: SentFrame) => {
        frame.answer(FRAME.perform, []);
      },
    ],
    ['what is no frame', ({ socket }: SentFrame) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('fail when the server sends %s', async (_what, answer) => {
    const server = await start((frame) => {
      if (frame.type === FRAME.perform) answer(frame);
    });

    const failed = storeOf(server.url).perform([peek('a')]);

    await expect(failed).rejects.toMatchObject({
      name: 'StoreError',
      code: expect.stringMatching(/^SLUICE_STORE_(FAILED|REPLY_INVALID)$/),
    });
  });

  it.each([
    ['nothing', []],
    ['too many', [blocked, blocked]],
    ['no array', { atMs: 1 }],
    ['no instant', [[null, []]]],
    ['an instant of 0', [[0, []]]],
    ['parts of nothing', [[1_000, [[true]]]]],
    ['a policy too few', [[1_000, [[true, []]]]]],
    ['text for a number', answerOf('10', 0, 5, 5, 0, 5, 0)],
    ['a number below 0', answerOf(10, -1, 5, 5, 0, 5, 0)],
    ['a fraction', answerOf(10, 0.5, 5, 5, 0, 5, 0)],
    ['null where a number has to be', answerOf(null, 0, 5, 5, 0, 5, 0)],
    ['too few numbers', answerOf(10, 0, 5, 5)],
    ['a strange flag', [[1_000, [['yes', [[false, 10, 0, 5, 5, 0, 5, 0]]]]]]],
    ['a snapshot that cannot be read', [[1_000, blocked[1], { snapshots: [[0, null, 'garbage']] }]]],
    ['snapshots of other keys', [[1_000, blocked[1], { snapshots: [] }]]],
    ['a version that is none', [[1_000, [], { stale: ['x'] }]]],
    ['a failure without a message', [{ code: 'SLUICE_STORE_FAILED' }]],
  ])('reject an answer that holds %s', async (_what, given) => {
    const server = await start(({ type, answer }) => {
      if (type === FRAME.perform) answer(FRAME.answers, given);
    });

    const failed = storeOf(server.url).perform([peek('a')]);

    await expect(failed).rejects.toMatchObject({ code: 'SLUICE_STORE_REPLY_INVALID', kind: 'reply' });
  });

  it('carry the errors of the server, each with its code and kind', async () => {
    const server = await start(({ type, answer }) => {
      if (type !== FRAME.perform) return;
      const failure = {
        code: 'SLUICE_STORE_KEY_FOREIGN',
        message: 'a key ... [SLUICE_STORE_KEY_FOREIGN]',
        kind: 'key',
      };
      answer(FRAME.answers, [failure, { ...failure, code: 'SLUICE_UNHEARD_OF', kind: 'strange' }]);
    });

    const errors = await storeOf(server.url).perform([peek('a'), peek('b')]);

    expect(errors).toMatchObject([
      {
        name: 'StoreError',
        code: 'SLUICE_STORE_KEY_FOREIGN',
        kind: 'key',
        message: 'a key ... [SLUICE_STORE_KEY_FOREIGN]',
      },
      { name: 'StoreError', code: 'SLUICE_STORE_FAILED', kind: 'other', message: 'a key ... [SLUICE_STORE_FAILED]' },
    ]);
  });
});

describe('a connection', () => {
  it('is made on the first use, and calls wait for it', async () => {
    const server = await start(({ type, answer }) => {
      if (type === FRAME.perform) answer(FRAME.answers, [blocked]);
    });
    const store = storeOf(server.url);
    expect(server.accepted).toBe(0);

    expect(await Promise.all([store.perform([peek('a')]), store.perform([peek('b')])])).toHaveLength(2);
    expect(server.accepted).toBe(1);
  });

  it('that cannot be made fails calls at once, with the reason, until the server is there', async () => {
    const port = await freePort();
    const store = storeOf(`sluice://127.0.0.1:${String(port)}`);

    const failure = {
      code: 'SLUICE_STORE_FAILED',
      kind: 'connection',
      message: expect.stringMatching(/^there is no connection to 127\.0\.0\.1:\d+: connect ECONN/),
    };
    await expect(store.perform([peek('a')])).rejects.toMatchObject(failure);
    await expect(store.perform([peek('a')])).rejects.toMatchObject(failure);

    await start(({ type, answer }) => {
      if (type === FRAME.perform) answer(FRAME.answers, [blocked]);
    }, port);
    await until('it has connected', async () => (await store.perform([peek('a')])).length === 1);
  });

  it('that ends fails the calls in flight, which may have counted, and sends none of them again', async () => {
    const server = await start(({ type, socket }) => {
      if (type === FRAME.perform) socket.destroy();
    });
    const store = storeOf(server.url);

    const failed = ['a', 'b'].map((subject) => store.perform([peek(subject)]));

    for (const call of failed) {
      await expect(call).rejects.toMatchObject({
        code: 'SLUICE_STORE_FAILED',
        kind: 'connection',
        message: expect.stringContaining('the request may have counted'),
      });
    }
    await until('it has connected again', () => server.accepted === 2);
    expect(calls(server).length).toBeLessThanOrEqual(2);
  });

  it('over which nothing comes, not even an answer to a ping, is given up', async () => {
    const server = await start();
    const store = storeOf(server.url);

    await expect(store.perform([peek('a')])).rejects.toMatchObject({
      kind: 'connection',
      message: expect.stringContaining('no reply in'),
    });

    expect(server.frames.map(({ type }) => type)).toEqual([FRAME.limit, FRAME.perform, FRAME.ping]);
    await until('it has connected again', () => server.accepted === 2);
  });

  it('whose server answers pings stays, however long its store takes', async () => {
    const pings: SentFrame[] = [];
    const server = await start((frame) => {
      if (frame.type !== FRAME.ping) return;
      pings.push(frame);
      frame.answer(FRAME.pong, null);
    });
    const performed = storeOf(server.url).perform([peek('a')]);
    await until('it was asked for a sign of life', () => pings.length === 3);

    calls(server)[0]?.answer(FRAME.answers, [blocked]);

    expect(await performed).toHaveLength(1);
    expect(server.accepted).toBe(1);
  });

  it.each([
    [{ ...WELCOME, protocol: 1 }, FRAME.welcome, 'not the native listener of a Sluice service'],
    [null, FRAME.welcome, 'not the native listener of a Sluice service'],
    [[], FRAME.answers, 'not the native listener of a Sluice service'],
    [{ code: 'SLUICE_STORE_FAILED', message: 'wrong token', kind: 'denied' }, FRAME.rejected, 'wrong token'],
  ])('is not made where the server answers a hello with %j', async (text, type, message) => {
    const server = await start((frame) => {
      if (frame.type !== FRAME.hello) return false;
      frame.answer(type, text);
      return true;
    });

    await expect(storeOf(server.url).perform([peek('a')])).rejects.toMatchObject({
      code: 'SLUICE_STORE_FAILED',
      message: expect.stringContaining(message),
    });
  });

  it('sends its token in the hello, and nowhere else', async () => {
    const texts: unknown[] = [];
    const server = await start(({ text, type, answer }) => {
      texts.push(text);
      if (type === FRAME.perform) answer(FRAME.answers, [blocked]);
    });

    await storeOf(server.url, { token: 'secret' }).perform([peek('a')]);

    expect(texts[0]).toEqual({ protocol: 2, token: 'secret' });
    expect(JSON.stringify(texts.slice(1))).not.toContain('secret');
  });

  it('is closed with the last limiter, and opened again by the next', async () => {
    const server = await start(({ type, text, answer }) => {
      if (type === FRAME.perform) answer(FRAME.answers, [[1_000, []]]);
      if (type === FRAME.batch)
        answer(FRAME.batchAnswer, [
          1_000,
          ...(text as unknown[])
            .slice(1)
            .filter((_, i) => i % 3 === 0)
            .map(() => ''),
        ]);
    });
    const store = storeOf(server.url);
    const common = { policy: fixedWindow({ limit: 10, window: '1m' }), store, onStoreError: 'throw' } as const;

    for (let i = 1; i <= 2; i++) {
      const limiter = createLimiter(common);
      await store.ready();
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, source: 'remote', atMs: 1_000 });
      await limiter.close();
      await until('it is closed', () => server.sockets.size === 0);
      expect(server.accepted).toBe(i);
    }
  });

  it('over which the server says that keys live on several nodes carries one subject a call', async () => {
    const server = await start(({ type, answer, text }) => {
      if (type === FRAME.hello) {
        answer(FRAME.welcome, { ...WELCOME, hasNodes: true });
        return true;
      }
      if (type === FRAME.perform) answer(FRAME.answers, [blocked]);
      if (type === FRAME.batch) answer(FRAME.batchAnswer, (text as unknown[]).length === 4 ? [1_000, ''] : [1_000]);
      return false;
    });
    const store = storeOf(server.url);
    await store.perform([peek('a')]);
    const limiter = createLimiter({
      policy: fixedWindow({ limit: 10, window: '1m' }),
      store,
      onStoreError: 'throw',
      timeoutMs: 5_000,
    });

    const decisions = await Promise.all(['a', 'b', 'c'].map((key) => limiter.consume(key)));

    expect(decisions).toMatchObject(Array(3).fill({ allowed: true }));
    expect(server.frames.filter(({ type }) => type === FRAME.batch)).toHaveLength(3);
  });
});

describe('several servers', () => {
  const answering = ({ type, answer }: SentFrame): void => {
    if (type === FRAME.perform) answer(FRAME.answers, [blocked]);
  };

  it('are tried in turn until one is there', async () => {
    const gone = await freePort();
    const server = await start(answering);

    for (let i = 0; i < 10; i++) {
      const store = storeOf(`sluice://127.0.0.1:${String(gone)},127.0.0.1:${String(server.port)}`);
      expect(await store.perform([peek('a')])).toHaveLength(1);
    }
  });

  it('take over from one that ends', async () => {
    const servers = await Promise.all([start(answering), start(answering)]);
    const store = storeOf(servers.map(({ url }) => url));
    await store.perform([peek('a')]);
    const first = servers.find(({ accepted }) => accepted === 1) as ScriptedServer;
    const other = servers.find((server) => server !== first) as ScriptedServer;

    await first.close();

    await until('the other one decides', async () => (await store.perform([peek('a')])).length === 1);
    expect(other.accepted).toBe(1);
  });

  it('take over from one that is leaving, which still answers what it was sent', async () => {
    const servers = await Promise.all([start(), start()]);
    const store = storeOf(servers.map(({ url }) => url));
    const early = store.perform([peek('early')]);
    await until('it was sent', () => servers.some((server) => calls(server).length === 1));
    const first = servers.find((server) => calls(server).length === 1) as ScriptedServer;
    const other = servers.find((server) => server !== first) as ScriptedServer;
    const [sent] = calls(first) as [SentFrame];

    sent.answer(FRAME.leaving, null, 0);
    await until('it has connected to the other', () => other.accepted === 1);
    await until('the other gets calls', () => {
      store.perform([peek('late')]).catch(() => undefined);
      return calls(other).length > 0;
    });
    const ended = once(sent.socket, 'end');
    sent.answer(FRAME.answers, [blocked]);

    expect(await early).toMatchObject([{ atMs: 1_000 }]);
    for (const frame of calls(first)) if (frame !== sent) frame.answer(FRAME.answers, [blocked]);
    await ended;
  });

  it('that say that they are leaving keep their calls where there is no other one', async () => {
    const server = await start((frame) => {
      if (frame.type === FRAME.hello && server.accepted > 1) {
        frame.socket.destroy();
        return true;
      }
      answering(frame);
      return false;
    });
    const store = storeOf(server.url);
    await store.perform([peek('a')]);

    calls(server)[0]?.answer(FRAME.leaving, null, 0);
    await until('it tries to connect', () => server.accepted > 2);

    expect(await store.perform([peek('b')])).toHaveLength(1);
  });
});
