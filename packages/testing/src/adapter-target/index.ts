export type * from './descriptions.ts';
export { serveTarget } from './serve-target.ts';
export type {
  AdapterTarget,
  Answer,
  AnyRequest,
  Call,
  Impossible,
  RunningApp,
  SuiteApp,
  SuiteOptions,
  SuiteRoute,
} from './target.ts';
export { withoutHttp2 } from './without-http2.ts';
