import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { createEnforcer, type Framework } from '@sluice/old-http/spi';
import { testFramework, TestResponse, type TestOptions, type TestRequest } from '@sluice/testkit';

const policy = fixedWindow({ limit: 1, window: '1h' });

/** The answer to the second request, under a limit of one. */
async function denied(
  options: Partial<TestOptions>,
  framework: Framework<TestRequest, TestResponse> = testFramework,
  response = new TestResponse(),
): Promise<TestResponse> {
  const { enforcer } = createEnforcer({ policy, ...options } as TestOptions, framework);
  await enforcer.limit({}, new TestResponse());
  await enforcer.limit({}, response);
  return response;
}

describe('a denial', () => {
  it('takes off what was said of another body', async () => {
    const response = new TestResponse();
    for (const name of ['content-length', 'content-encoding', 'etag', 'x-own']) response.headers.set(name, '5');

    await denied({}, testFramework, response);

    expect([...response.headers.keys()].sort()).toEqual([
      ...['cache-control', 'content-type', 'ratelimit', 'ratelimit-policy', 'retry-after', 'x-own'],
    ]);
  });

  it('names no code and no list to the client, as an error', async () => {
    const { enforcer } = createEnforcer<TestRequest, TestResponse>(
      { policy, deny: ['192.0.2.1'], throw: true },
      testFramework,
    );

    await expect((async () => enforcer.limit({}, new TestResponse()))()).rejects.toMatchObject({
      message: 'Forbidden',
      code: 'SLUICE_DENIED',
      status: 403,
    });
  });
});

describe('what onDenied answers', () => {
  const answering = (): { framework: Framework<TestRequest, TestResponse>; values: unknown[] } => {
    const values: unknown[] = [];
    const answerWith = (_response: TestResponse, value: unknown): void => {
      values.push(value);
    };
    return { framework: { ...testFramework, answerWith }, values };
  };

  it.each<[string, TestOptions['onDenied']]>([
    ['a value', () => 'slow down'],
    ['a promise', async () => Promise.resolve('slow down')],
  ])('is sent by a framework whose handlers answer so: %s', async (_what, onDenied) => {
    const { framework, values } = answering();

    const response = await denied({ onDenied }, framework);

    expect(values).toEqual(['slow down']);
    expect(response.statusCode).toBe(429);
  });

  it.each<[string, TestOptions['onDenied']]>([
    ['nothing', () => undefined],
    ['the response', (_request, response) => response],
  ])('is left alone when it is %s', async (_what, onDenied) => {
    const { framework, values } = answering();

    await denied({ onDenied }, framework);

    expect(values).toEqual([]);
  });
});
