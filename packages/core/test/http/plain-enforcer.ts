import { createEnforcer, type Enforcement, type RateLimitOptions, type RequestReader } from '@sluice/core/http';

/** A request of no framework: what a reader can be asked, written down. */
export interface PlainRequest {
  readonly address?: string;
  readonly method?: string;
  readonly route?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: string;
  /** For key functions of the tests. */
  readonly parts?: readonly string[];
}

export type PlainOptions = RateLimitOptions<PlainRequest, never>;

const reader: RequestReader<PlainRequest> = {
  address: ({ address = '192.0.2.1' }) => address,
  method: ({ method = 'GET' }) => method,
  route: ({ route }) => route,
  header: ({ headers }, name) => headers?.[name],
  user: ({ user }) => user,
};

/** A limiter over plain requests: the framework-neutral part, without a framework. */
export function plainEnforcer(options: PlainOptions): (request?: PlainRequest) => Promise<Enforcement> {
  const enforcer = createEnforcer(options, reader);
  // Each call is a request of its own, even with equal contents: one that is seen twice counts once.
  return (request = {}) => enforcer.enforce({ ...request });
}

/** An answer's header fields as lines, in order. */
export function lines({ fields, refusal }: Enforcement): string[] {
  return [...fields, ...(refusal?.fields ?? [])].map(({ name, value }) => `${name}: ${value}`);
}
