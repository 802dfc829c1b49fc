// The contract of adapters. Separate from the rest, because it needs packages that core's own tests do not.
export {
  header,
  type AdapterUnderTest,
  type Answer,
  type AnyRequest,
  type App,
  type Impossible,
  type Limit,
  type Route,
} from './adapter.ts';
export { countInShort, describeAdapter, describeInShort } from './describe-adapter.ts';
export { listen, type Listening } from '../raw-http.ts';
