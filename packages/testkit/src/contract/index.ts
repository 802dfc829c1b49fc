// The contract of adapters. Separate from the rest, because it needs packages that core's own tests do not.
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
export { describeAdapter, rows, smoke } from './describe-adapter.ts';
export type { Row } from './row.ts';
export { listen } from '../raw-http.ts';
