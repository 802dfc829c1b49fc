import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { fixedWindow, silenceWarnings, tokenBucket } from '@sluice/old-core';
import { createEnforcer, type Framework } from '@sluice/old-http/spi';
import { testFramework, TestResponse, type TestRequest, nextTurn } from '@sluice/testkit';

const policy = fixedWindow({ limit: 5, window: '1h' });

const warnings: string[] = [];
const messages: string[] = [];
const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation((message, options) => {
  warnings.push((options as { code: string }).code);
  messages.push(String(message));
});
beforeEach(() => {
  warnings.length = 0;
  messages.length = 0;
});

/** Sends requests through an application of this trust. */
async function send(requests: readonly TestRequest[], trust?: unknown): Promise<void> {
  const framework: Framework<TestRequest, TestResponse> = { ...testFramework, proxyTrust: () => trust };
  const { enforcer } = createEnforcer<TestRequest, TestResponse>({ policy }, framework);
  for (const request of requests) await enforcer.enforce({ ...request }, new TestResponse());
}

const forwarded = (peer: string | undefined, address: string, field?: string): TestRequest => ({
  address,
  socket: peer === undefined ? {} : { remoteAddress: peer, destroyed: false },
  headers: field === undefined ? {} : { 'x-forwarded-for': field },
});

// Each code is given once in a process, so what gives none comes before what gives it.

describe('the trust of an application', () => {
  it('is nothing to warn of when it is for certain proxies', async () => {
    await send([{}, {}], undefined);
    await send([{}], (address: string) => address === '10.0.0.1');

    expect(warnings).toEqual([]);
  });

  it.each([
    [true, 'SLUICE_PROXY_TRUSTS_ALL'],
    [1, 'SLUICE_PROXY_HOP_COUNT'],
  ] as const)('in %s is warned of, once', async (trust, code) => {
    await send([{}, {}], trust);
    await send([{}], trust);

    expect(warnings).toEqual([code]);
  });

  it('is asked for once', async () => {
    let asked = 0;
    const proxyTrust = (): undefined => {
      asked++;
    };
    const { enforcer } = createEnforcer<TestRequest, TestResponse>({ policy }, { ...testFramework, proxyTrust });

    for (let i = 0; i < 3; i++) await enforcer.enforce({}, new TestResponse());

    expect(asked).toBe(1);
  });
});

describe('a proxy that is not believed', () => {
  it('is looked for in all of the first requests, and then in one of 64', async () => {
    let looked = 0;
    const header: typeof testFramework.header = (request, name) => {
      if (name === 'x-forwarded-for') looked++;
      return testFramework.header(request, name);
    };
    const { enforcer } = createEnforcer<TestRequest, TestResponse>({ policy }, { ...testFramework, header });
    const request = forwarded('10.0.0.1', '203.0.113.7', '203.0.113.7');

    for (let i = 0; i < 128 + 6400; i++) await enforcer.enforce({ ...request }, new TestResponse());

    expect(looked).toBe(128 + 100);
  });

  it.each<[string, TestRequest]>([
    ['no proxy named a client', forwarded('10.0.0.1', '10.0.0.1')],
    ['its client is believed', forwarded('10.0.0.1', '203.0.113.7', '203.0.113.7')],
    ['it asks for itself', forwarded('127.0.0.1', '127.0.0.1', '127.0.0.1')],
    ['it asks for itself through another', forwarded('10.0.0.1', '10.0.0.1', '203.0.113.7, 10.0.0.1')],
    ['the peer has a public address', forwarded('203.0.113.1', '203.0.113.1', '203.0.113.7')],
    ['the peer has a public address of IPv6', forwarded('2001:db8::1', '2001:db8::1', '203.0.113.7')],
    ['the peer is just outside the private ranges', forwarded('172.32.0.1', '172.32.0.1', '203.0.113.7')],
    ['the socket is gone', forwarded(undefined, '10.0.0.1', '203.0.113.7')],
    ['the socket is one of Unix', forwarded('', '', '203.0.113.7')],
  ])('is nothing to warn of when %s', async (_why, request) => {
    await send([request]);

    expect(warnings.filter((code) => code !== 'SLUICE_KEY_MISSING')).toEqual([]); // one has no address
  });

  it('is warned of once, with its address', async () => {
    const believed = forwarded('10.0.0.1', '203.0.113.7', '203.0.113.7');
    const other = forwarded('::ffff:10.0.0.1', '::ffff:10.0.0.1', '203.0.113.7');
    await send([...new Array<TestRequest>(1000).fill(believed), ...new Array<TestRequest>(64).fill(other)]);
    await send([forwarded('10.0.0.1', '10.0.0.1', '203.0.113.7')]);

    expect(warnings).toEqual(['SLUICE_PROXY_NOT_TRUSTED']);
    expect(emitWarning.mock.lastCall).toEqual([
      expect.stringContaining('a request came from ::ffff:10.0.0.1 with X-Forwarded-For'),
      { type: 'SluiceWarning', code: 'SLUICE_PROXY_NOT_TRUSTED' },
    ]);
  });
});

describe('a proxy on a Unix socket that is not believed', () => {
  it('is warned of once: no client has an address', async () => {
    const framework: Framework<TestRequest, TestResponse> = { ...testFramework, address: () => undefined };
    const { enforcer } = createEnforcer<TestRequest, TestResponse>({ policy }, framework);
    const request = { socket: { destroyed: false }, headers: { 'x-forwarded-for': '203.0.113.7' } };

    await enforcer.enforce({ ...request, socket: { destroyed: true } }, new TestResponse());
    expect(warnings).toEqual([]);
    await enforcer.enforce({ ...request }, new TestResponse());
    await enforcer.enforce({ ...request }, new TestResponse());

    expect(warnings).toEqual(['SLUICE_PROXY_NOT_TRUSTED']);
    expect(messages[0]).toContain('Unix socket');
  });
});

describe('limiters that are dropped without being closed', () => {
  const script = fileURLToPath(new URL('./children/dropped-limiters.mjs', import.meta.url));

  it.each([
    ['made in a handler by createLimiter()', 'create', 'SLUICE_LIMITER_PER_REQUEST'],
    ['made in a handler by createEnforcer()', 'enforce', 'SLUICE_LIMITER_PER_REQUEST'],
    ['made lazily and kept, one per tenant', 'kept', 'none'],
    ['closed after use', 'closed', 'none'],
    ['on a store that is kept', 'shared', 'none'],
  ])('%s: %s', async (_what, how, expected) => {
    const child = spawn(process.execPath, ['--expose-gc', script, how], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (text: Buffer) => (output += text.toString()));

    await once(child, 'close');

    expect(output.trim()).toBe(expected);
  });
});

describe('a request without a key', () => {
  const denied = async (name: string, request: object): Promise<string> => {
    const { enforcer } = createEnforcer<TestRequest, TestResponse>(
      { name, policy, key: () => undefined },
      testFramework,
    );
    const plan = await enforcer.enforce({ ...forwarded(undefined, '192.0.2.1'), ...request }, new TestResponse());
    return plan.denial?.body ?? '';
  };

  it('is denied, and the developer is told once which option found nothing', async () => {
    const bodies = [await denied('missing', {}), await denied('missing', {})];

    expect(warnings).toEqual(['SLUICE_KEY_MISSING']);
    expect(messages[0]).toBe(
      "the limiter missing denies a request because its option key found nothing to count it by. If that is right, write onMissingKey: 'deny'; otherwise 'skip' or 'shared', or another key.",
    );
    for (const body of bodies) expect(body).not.toMatch(/onMissingKey|option/);
  });

  it('is no mistake where onMissingKey says so', async () => {
    for (const onMissingKey of ['deny', 'skip', 'shared'] as const) {
      const options = { name: `said-${onMissingKey}`, policy, key: () => undefined, onMissingKey };
      const { enforcer } = createEnforcer<TestRequest, TestResponse>(options, testFramework);
      await enforcer.enforce(forwarded(undefined, '192.0.2.1'), new TestResponse());
    }

    expect(warnings).toEqual([]);
  });

  it('whose body is not there yet is told of the parser', async () => {
    await denied('before-the-parser', { headers: { 'content-length': '12' } });

    expect(messages[0]).toContain(
      'nothing to count it by; the request has no body yet: put the parser of the body before the limiter.',
    );
  });

  it('whose key throws for want of the body says so', async () => {
    const { enforcer } = createEnforcer<TestRequest, TestResponse>(
      { policy, key: (request) => (request as unknown as { body: { email: string } }).body.email },
      testFramework,
    );
    const posted = { ...forwarded(undefined, '192.0.2.1'), headers: { 'content-length': '12' } };

    const enforce = async (request: TestRequest): Promise<unknown> => enforcer.enforce(request, new TestResponse());
    await expect(enforce(posted)).rejects.toThrow(
      /^the option key threw: Cannot read properties of undefined \(reading 'email'\); the request has no body yet: put the parser of the body before the limiter/,
    );
    await expect(enforce({ ...posted, headers: {} })).rejects.toThrow(
      /^Cannot read properties of undefined \(reading 'email'\)$/,
    );
  });
});

describe('a window given as a bare number that looks like seconds', () => {
  it('is warned of once for each option: it was probably meant in seconds', () => {
    fixedWindow({ limit: 5, window: 1_000 });
    fixedWindow({ limit: 5, window: '60ms' });
    fixedWindow({ limit: 5, window: 1_500 });
    fixedWindow({ limit: 5, window: 60_000 });
    expect(warnings).toEqual([]);

    fixedWindow({ limit: 5, window: 60 });
    fixedWindow({ limit: 5, window: 30 });
    tokenBucket({ capacity: 5, refill: 1, every: 3_600 });

    expect(warnings).toEqual(['SLUICE_UNIT_MISSING', 'SLUICE_UNIT_MISSING']);
    expect(messages).toEqual([
      "window: 60 is 60 milliseconds: write window: '60ms' for that, or '60s' for seconds.",
      "every: 3600 is 3600 milliseconds: write every: '3600ms' for that, or '3600s' for seconds.",
    ]);
  });
});

describe('a warning that is silenced', () => {
  it('is not emitted', async () => {
    silenceWarnings('SLUICE_REFUND_FAILED');
    const refund = (): never => {
      throw new Error('no such column');
    };
    const { enforcer } = createEnforcer<TestRequest, TestResponse>({ policy, refund }, testFramework);
    const response = new TestResponse();
    await enforcer.enforce({}, response);

    response.finish();
    await nextTurn();

    expect(warnings).toEqual([]);
  });
});

describe('memory under node:cluster', () => {
  const built = fileURLToPath(new URL('../dist/index.js', import.meta.url));
  const script = fileURLToPath(new URL('./children/cluster-worker.mjs', import.meta.url));

  it('is warned of once in each worker, and neither in the primary nor for a shared store', async () => {
    if (!existsSync(built))
      throw new Error('packages/old-http/dist is missing: run `npm run build` first (npm test does)');
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (text: Buffer) => (output += text.toString()));

    await once(child, 'close');

    expect(output.trim().split('\n').sort()).toEqual([
      'primary: none',
      'worker with memory, silenced: none',
      'worker with memory: SLUICE_MEMORY_IN_CLUSTER',
      'worker with memory: SLUICE_MEMORY_IN_CLUSTER',
      'worker with redis: none',
    ]);
  });
});
