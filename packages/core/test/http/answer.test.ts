import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/core';
import { createEnforcer, type Framework } from '@sluice/core/http';
import { plainFramework, PlainResponse, type PlainOptions, type PlainRequest } from './plain-enforcer.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });

/** The answer to the second request, under a limit of one. */
async function refused(
  options: Partial<PlainOptions>,
  framework: Framework<PlainRequest, PlainResponse> = plainFramework,
  response = new PlainResponse(),
): Promise<PlainResponse> {
  const { enforcer } = createEnforcer({ policy, ...options } as PlainOptions, framework);
  await enforcer.limit({}, new PlainResponse());
  await enforcer.limit({}, response);
  return response;
}

describe('a refusal', () => {
  it('takes off what was said of another body', async () => {
    const response = new PlainResponse();
    for (const name of ['content-length', 'content-encoding', 'etag', 'x-own']) response.headers.set(name, '5');

    await refused({}, plainFramework, response);

    expect([...response.headers.keys()].sort()).toEqual([
      ...['cache-control', 'content-type', 'ratelimit', 'ratelimit-policy', 'retry-after', 'x-own'],
    ]);
  });

  it('names no code and no list to the client, as an error', async () => {
    const { enforcer } = createEnforcer<PlainRequest, PlainResponse>(
      { policy, deny: ['192.0.2.1'], throw: true },
      plainFramework,
    );

    await expect((async () => enforcer.limit({}, new PlainResponse()))()).rejects.toMatchObject({
      message: 'Forbidden',
      code: 'SLUICE_DENIED',
      status: 403,
    });
  });
});

describe('what onDenied answers', () => {
  const answering = (): { framework: Framework<PlainRequest, PlainResponse>; values: unknown[] } => {
    const values: unknown[] = [];
    const answerWith = (_response: PlainResponse, value: unknown): void => {
      values.push(value);
    };
    return { framework: { ...plainFramework, answerWith }, values };
  };

  it.each<[string, PlainOptions['onDenied']]>([
    ['a value', () => 'slow down'],
    ['a promise', async () => Promise.resolve('slow down')],
  ])('is sent by a framework whose handlers answer so: %s', async (_what, onDenied) => {
    const { framework, values } = answering();

    const response = await refused({ onDenied }, framework);

    expect(values).toEqual(['slow down']);
    expect(response.statusCode).toBe(429);
  });

  it.each<[string, PlainOptions['onDenied']]>([
    ['nothing', () => undefined],
    ['the response', (_request, response) => response],
  ])('is left alone when it is %s', async (_what, onDenied) => {
    const { framework, values } = answering();

    await refused({ onDenied }, framework);

    expect(values).toEqual([]);
  });
});
