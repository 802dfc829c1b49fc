import { ApolloServer, HeaderMap } from '@apollo/server';
import { postJson, useExample } from '@sluice/testkit';
import { describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import { apolloRateLimit } from '../src/apollo-plugin.ts';
import { createApp } from '../src/app.ts';
import { queryLimit } from '../src/query-limit.ts';
import { rootValue, shopSchema } from '../src/schema.ts';

/** Costs 1 + 40 * (1 + 1 + 9) = 441. */
const LARGE = '{ orders(first: 40) { id items(first: 9) { name } } }';

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

    const answers = [];
    for (const query of ['{ hello }', LARGE, LARGE, LARGE, '{ hello }']) answers.push(await ask(query));

    const lefts = answers.map(
      ({ status, headers }) => `${String(status)} ${String(headers['ratelimit']?.split(';')[1])}`,
    );
    expect(lefts).toEqual(['200 r=999', '200 r=558', '200 r=117', '429 r=117', '200 r=116']);
    expect(answers[3]?.headers['retry-after']).toBe('4');
    expect(answers[3]?.body.errors).toMatchObject([
      { message: 'This query costs 441 points, and 117 are left.', extensions: { code: 'RATE_LIMITED', cost: 441 } },
    ]);
  });

  it('that could never run is told so, and costs nothing, as one that is wrong; clients have budgets of their own', async () => {
    const ask = start();

    const huge = await ask('{ orders(first: 1000) { id items(first: 100) { name } } }');
    const endless = await ask('{ orders(first: 2147483647) { id items(first: 2147483647) { name } } }');
    const withoutVariables = await ask('query Orders($first: Int!) { orders(first: $first) { id } }');
    await ask('{ nothing }');
    const others = [await ask(LARGE, 'bob'), await ask('{ hello }')];

    for (const { status, headers, body } of [huge, endless]) {
      expect([status, headers['retry-after']]).toEqual([429, undefined]);
      expect(body.errors?.[0]?.message).toContain('Ask for less');
    }
    expect(withoutVariables.body.errors?.[0]?.message).toContain('Variable "$first"');
    expect(others.map(({ headers }) => headers['ratelimit']?.split(';')[1])).toEqual(['r=559', 'r=999']);
  });
});

it('the example answers as its output describes', async () => {
  await useExample(new URL('../dist/main.js', import.meta.url), async (url) => {
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await postJson(`${url}/graphql`, { query: LARGE })).status);

    expect(statuses).toEqual([200, 200, 429]);
  });
});
