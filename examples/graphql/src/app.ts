import type { Store } from '@sluice/core';
import { createYoga, type YogaServerInstance } from 'graphql-yoga';
import { queryLimit } from './query-limit.ts';
import { rootValue, shopSchema } from './schema.ts';
import { yogaRateLimit } from './yoga-plugin.ts';

/** A server of Yoga, whose clients are told apart by their API key. */
export function createApp(store: Store): YogaServerInstance<object, object> {
  return createYoga({
    schema: shopSchema(),
    rootValue,
    logging: false,
    graphiql: false,
    plugins: [yogaRateLimit(queryLimit(store), (request) => request.headers.get('x-api-key') ?? 'anonymous')],
  } as never);
}
