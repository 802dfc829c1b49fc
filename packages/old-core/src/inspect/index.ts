/** For tools: tells what keys in Redis hold, and writes policies as text. Nothing here reads or writes a key. */
export { inspectKey, type InspectOptions } from './inspect-key.ts';
export type { ChangingPolicy, Definitions } from './inspect-source.ts';
export { containingPattern, isWholeKey, keyPattern, literalPattern, ownerOfExternalState } from './key-text.ts';
export { externalStateKeyOf, readKeyText, subjectOfKey, type KeyText } from './key-text.ts';
export { policyFactories, writtenPolicy, type FactoryOption, type PolicyFactory } from './policy-text.ts';
export type { KeyReport, PolicyReport, DenialCountReport } from './report.ts';
export { insteadOf, nearest } from '../values/hint.ts';
