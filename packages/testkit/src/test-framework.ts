import { EventEmitter } from 'node:events';
import {
  createEnforcer,
  type Framework,
  type RateLimitOptions,
  type RawRequest,
  type RawResponse,
} from '@sluice/old-http/spi';
import type { ResponsePlan } from '@sluice/old-http';

/** A request of no framework: what a reader can be asked, written down. */
export interface TestRequest {
  readonly address?: string;
  readonly method?: string;
  readonly route?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: string;
  /** Only HTTP/2 has it. */
  readonly stream?: { readonly endAfterHeaders: boolean };
  readonly socket?: NonNullable<RawRequest['socket']>;
  /** For key functions of the tests. */
  readonly parts?: readonly string[];
}

/** A response of no framework, which ends when a test says so. */
export class TestResponse extends EventEmitter {
  headersSent = false;
  writableEnded = false;
  destroyed = false;
  writableFinished = false;
  /** Only HTTP/2 has it. */
  stream: NonNullable<RawResponse['stream']> | undefined;
  statusCode = 200;
  body: string | undefined;
  readonly headers: Map<string, string> = new Map<string, string>();

  /** The handler has answered, and the answer is handed over whole. */
  finish(statusCode = 200): void {
    this.statusCode = statusCode;
    this.writableEnded = true;
    this.writableFinished = true;
    this.emit('finish');
    this.leave();
  }

  /** The client is gone. */
  leave(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

export type TestOptions = RateLimitOptions<TestRequest, TestResponse>;
export type TestPlan = ResponsePlan<TestRequest, TestResponse>;

export const testFramework: Framework<TestRequest, TestResponse> = {
  address: ({ address = '192.0.2.1' }) => address,
  method: ({ method = 'GET' }) => method,
  route: ({ route }) => route,
  header: ({ headers }, name) => headers?.[name],
  user: ({ user }) => user,
  rawRequest: (request) => request,
  rawResponse: (response) => response,
  getHeader: (response, name) => response.headers.get(name.toLowerCase()),
  setHeader: (response, name, value) => {
    response.headers.set(name.toLowerCase(), value);
  },
  removeHeader: (response, name) => {
    response.headers.delete(name.toLowerCase());
  },
  setStatus: (response, status) => {
    response.statusCode = status;
  },
  send: (response, body) => {
    response.body = body;
  },
  record: () => {},
};

/** A limiter over plain requests: the framework-neutral part, without a framework. */
export function testEnforcer(
  options: TestOptions,
): (request?: TestRequest, response?: TestResponse) => Promise<TestPlan> {
  const { enforcer } = createEnforcer(options, testFramework);
  // Each call is a request of its own, even with equal contents: one that is seen twice counts once.
  return async (request = {}, response = new TestResponse()) => enforcer.enforce({ ...request }, response);
}

/** An answer's header fields as lines, in order. */
export function lines({ fields, denial }: TestPlan): string[] {
  return [...fields, ...(denial?.fields ?? [])].map(({ name, value }) => `${name}: ${value}`);
}
