import { randomBytes } from 'node:crypto';
import { hashed } from '../../engine/key.ts';

/**
 * The key of a subject under a limiter. A caller can neither choose its hash slot, nor make it collide or long.
 */
export function redisKey(prefix: string, subject: string, keySuffix: string): string {
  return `${prefix}:{${hashTag(subject)}}${keySuffix}`;
}

/**
 * The text between the braces of a key, which a cluster hashes. A hash replaces a subject with braces, which would move
 * to another hash slot, or with lone surrogates, which would equal another subject in UTF-8.
 */
export function hashTag(subject: string): string {
  const isSafe = subject.isWellFormed() && !subject.includes('{') && !subject.includes('}');
  return isSafe ? subject : hashed(subject);
}

/** The key of an external state. `policyNumber` is counted from 1. */
export function externalStateKey(key: string, kind: string, policyNumber: string): string {
  return `${key}:${kind}${policyNumber}`;
}

/** The first characters of every identity of this process: 72 random bits. A count follows. */
const PROCESS: string = /* @__PURE__ */ (() => randomBytes(9).toString('base64url'))();
let identities = 0;

/** The key that records that one refund was performed, so that it counts once when it is sent again. */
export function identityKey(key: string): string {
  return `${key}:~${PROCESS}${(identities++).toString(36)}`;
}
