import { createLimiter, tokenBucket, type Store } from '@sluice/core';
import { denialFor, fieldWriter } from '@sluice/core/http';
import { GraphQLError, type DocumentNode, type GraphQLSchema } from 'graphql';
import { fieldExtensionsEstimator, getComplexity, simpleEstimator } from 'graphql-query-complexity';

/** A query that is about to run. */
export interface Query {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | undefined;
}

/** Header fields of the response and, if the query may not run, the error that stands in it. */
export interface Verdict {
  readonly headers: Readonly<Record<string, string>>;
  readonly error: GraphQLError | undefined;
}

export interface QueryLimit {
  /** Decides about a query of a client. */
  decide(client: string, query: Query): Promise<Verdict>;
}

/** Points of complexity: 1000 at once, and 100 more every second. */
const policy = tokenBucket({ capacity: 1000, refill: 100, every: '1s' });

const estimators = [fieldExtensionsEstimator(), simpleEstimator({ defaultComplexity: 1 })];

/** A limit for each client whose queries cost as much as they are complex. */
export function queryLimit(store: Store): QueryLimit {
  const limiter = createLimiter({ name: 'complexity', policy, store });
  const fieldsOf = fieldWriter();
  return {
    async decide(client, { schema, document, variables, operationName }) {
      const name = operationName === undefined ? {} : { operationName };
      const complexity = getComplexity({ schema, query: document, variables: { ...variables }, estimators, ...name });
      // A client may ask for more than a cost can be: nested lists multiply.
      const cost = Math.min(Math.max(Math.ceil(complexity), 1), Number.MAX_SAFE_INTEGER);
      const decision = await limiter.consume(client, cost);
      const denial = decision.allowed ? undefined : denialFor(decision);
      const fields = [...(decision.policies.length === 0 ? [] : fieldsOf(decision)), ...(denial?.fields ?? [])];
      const headers = Object.fromEntries(fields.map(({ name, value }) => [name.toLowerCase(), value]));
      if (denial === undefined) return { headers, error: undefined };
      const message =
        decision.retryAfterMs === null
          ? `This query costs ${String(decision.cost)} of ${String(decision.limit)} points. Ask for less.`
          : `This query costs ${String(decision.cost)} points, and ${String(decision.remaining)} are left.`;
      const extensions = { code: 'RATE_LIMITED', cost: decision.cost, retryAfterMs: decision.retryAfterMs };
      return {
        headers,
        error: new GraphQLError(message, { extensions: { ...extensions, http: { status: denial.status } } }),
      };
    },
  };
}
