import { hashed } from '../../engine/key.ts';

/**
 * The key of a subject under a limiter: nothing that a caller sends moves its hash slot, collides with another subject, or
 * makes it long.
 */
export function redisKey(prefix: string, subject: string, keySuffix: string): string {
  return `${prefix}:{${hashTag(subject)}}${keySuffix}`;
}

/**
 * A subject as it stands between the braces of its key, which is what a cluster hashes. One with a brace of its own would
 * move to another slot, and one with a lone surrogate would be another's in UTF-8: these two stand as their hashes.
 */
export function hashTag(subject: string): string {
  const standsAsItIs = subject.isWellFormed() && !subject.includes('{') && !subject.includes('}');
  return standsAsItIs ? subject : hashed(subject);
}

/** Where the rest of a long state lies: that of the policy with this number, counted from 1, under a key. */
export function detailKey(key: string, kind: string, policyNumber: string): string {
  return `${key}:${kind}${policyNumber}`;
}
