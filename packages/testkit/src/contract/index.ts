// The contract of adapters. Apart from the rest, because it needs packages that core's own tests do without.
export {
  header,
  type AdapterUnderTest,
  type Answer,
  type AnyRequest,
  type App,
  type Call,
  type Impossible,
  type Limit,
  type Route,
  type RunningApp,
} from './adapter.ts';
export { contractParts, describeAdapter, type ContractPart } from './describe-adapter.ts';
export { smoke } from './smoke.ts';
export { withoutHttp2 } from './without-http2.ts';
