import { ApolloServer, HeaderMap } from '@apollo/server';
import { ExampleProcess } from '@sluice/testkit';
import { describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import { apolloRateLimit } from '../src/apollo-plugin.ts';
import { createApp } from '../src/app.ts';
import { queryLimit } from '../src/query-limit.ts';
import { rootValue, shopSchema } from '../src/schema.ts';

/** Costs 1 + 40 * (1 + 1 + 9) = 441. */
const LARGE = '{ orders(first: 40) { id items(first: 9) { name } } }';
const HUGE = '{ orders(first: 1000) { id items(first: 100) { name } } }';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: {
    readonly data?: unknown;
    readonly errors?: readonly { readonly message: string; readonly extensions: unknown }[];
  };
}

type Ask = (query: string, client?: string) => Promise<Answer>;

function yoga(): Ask {
  const app = createApp(memoryStore({ clock: fakeClock() }));
  return async (query, client = 'ann') => {
    const response = await app.fetch('http://test/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': client },
      body: JSON.stringify({ query }),
    });
    const body = (await response.json()) as Answer['body'];
    return { status: response.status, headers: Object.fromEntries(response.headers), body };
  };
}

function apollo(): Ask {
  const limit = queryLimit(memoryStore({ clock: fakeClock() }));
  const server = new ApolloServer<{ client: string }>({
    schema: shopSchema(),
    rootValue: () => rootValue,
    plugins: [apolloRateLimit(limit, ({ client }) => client)],
  });
  server.startInBackgroundHandlingStartupErrorsByLoggingAndFailingAllRequests();
  return async (query, client = 'ann') => {
    const { status, headers, body } = await server.executeHTTPGraphQLRequest({
      httpGraphQLRequest: {
        method: 'POST',
        headers: new HeaderMap([['content-type', 'application/json']]),
        search: '',
        body: { query },
      },
      context: async () => Promise.resolve({ client }),
    });
    const text = body.kind === 'complete' ? body.string : '';
    return { status: status ?? 200, headers: Object.fromEntries(headers), body: JSON.parse(text) as Answer['body'] };
  };
}

describe.each([
  ['Yoga', yoga],
  ['Apollo Server', apollo],
])('a query of %s', (_server, start) => {
  it('costs as much as it is complex', async () => {
    const ask = start();

    const answers = [
      await ask('{ hello }'),
      await ask(LARGE),
      await ask(LARGE),
      await ask(LARGE),
      await ask('{ hello }'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 200]);
    expect(answers.map(({ headers }) => headers['ratelimit']?.split(';')[1])).toEqual([
      'r=999',
      'r=558',
      'r=117',
      'r=117',
      'r=116',
    ]);
    expect(answers[3]?.headers['retry-after']).toBe('4');
    expect(answers[3]?.body.errors).toMatchObject([
      { message: 'This query costs 441 points, and 117 are left.', extensions: { code: 'RATE_LIMITED', cost: 441 } },
    ]);
  });

  it('that could never run is told so, and costs nothing; other clients have budgets of their own', async () => {
    const ask = start();

    const huge = await ask(HUGE);
    const others = [await ask(LARGE, 'bob'), await ask('{ hello }')];

    expect([huge.status, huge.headers['retry-after']]).toEqual([429, undefined]);
    expect(huge.body.errors?.[0]?.message).toContain('Ask for less');
    expect(others.map(({ headers }) => headers['ratelimit']?.split(';')[1])).toEqual(['r=559', 'r=999']);
  });

  it('that is larger than any number is told so, too', async () => {
    const ask = start();

    const endless = await ask('{ orders(first: 2147483647) { id items(first: 2147483647) { name } } }');

    expect([endless.status, endless.body.errors?.[0]?.message]).toEqual([429, expect.stringContaining('Ask for less')]);
  });

  it('without its variables is the mistake of its client', async () => {
    const ask = start();

    const mistaken = await ask('query Orders($first: Int!) { orders(first: $first) { id } }');

    expect(mistaken.body.errors?.[0]?.message).toContain('Variable "$first"');
    expect((await ask('{ hello }')).headers['ratelimit']).toContain('r=999');
  });

  it('that is not valid costs nothing', async () => {
    const ask = start();

    await ask('{ nothing }');

    expect((await ask('{ hello }')).headers['ratelimit']).toContain('r=999');
  });
});

describe('the example', () => {
  it('starts, responds as its output describes, and ends on request', async () => {
    const example = new ExampleProcess(new URL('../dist/main.js', import.meta.url), {});
    const port = await example.listens();

    const statuses = [];
    for (let i = 0; i < 3; i++) {
      const response = await fetch(`http://127.0.0.1:${String(port)}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: LARGE }),
      });
      statuses.push(response.status);
      await response.text();
    }

    expect(statuses).toEqual([200, 200, 429]);
    example.stop();
    expect(await example.ends()).toBe(0);
  });
});
