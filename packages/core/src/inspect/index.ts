/** What keys in Redis say, for tools: nothing here asks or writes. */
export { inspectKey, type InspectOptions } from './inspect-key.ts';
export { isWholeKey, keyPattern, ownerOfDetails } from './key-text.ts';
export type { KeyReport, PolicyReport, RefusalsReport } from './report.ts';
