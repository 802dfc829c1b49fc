/** For those who write stores: what counts is done here, and the store keeps a text for each key. See docs/guides/creating-a-store.md. */
export { keysOf, performRequest, type KeyChange, type Performed } from './stores/perform-request.ts';
