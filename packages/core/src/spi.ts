// For the packages of Sluice that plug into core: frameworks, the service, tools. Applications import the index.

// Decisions over limits that arrive with requests, or live in a file.
export { LimiterCore } from './limiter/core.ts';
export { readWants, type Limit, type Want } from './limiter/limits.ts';
export { LimiterDecision } from './limiter/decision.ts';
export { newHolder, readHolder } from './limiter/holder.ts';
export { findSlots, type HeldSlots } from './limiter/slots.ts';
export { editKeys, settleKeys } from './limiter/settle.ts';
export { readMark } from './limiter/policy-function.ts';
export { readSubject } from './values/key.ts';

// What operators see.
export { watchDecisions, type SeenDecision } from './limiter/publish.ts';
export { liveLimiters } from './observe/live-limiters.ts';

// Policies, by their kinds, and the rules they are compiled to.
export { compile, MAKERS } from './policies/index.ts';

// What changed and broke, and lists that processes share.
export { findTimeline } from './events/timeline.ts';
export { SharedLines } from './events/shared-lines.ts';

// Redis, as a store has connected to it.
export { connectTo, findConnection, type RedisConnection } from './stores/redis/connection.ts';

// What a value in Redis reveals by itself.
export { readWriter } from './stores/writer.ts';

// Paths, as gateways and routers read them.
export { foldCase, listReadings } from './http/keys/path-readings.ts';

// Checks of the values that users write, with their errors and warnings.
export { suggest } from './values/hint.ts';
export { readOptions } from './values/shape.ts';
export { parseDuration, writeDuration } from './values/duration.ts';
export { parseName } from './values/name.ts';
export { shown, typeError } from './errors.ts';
export { warnOnce } from './warnings.ts';
