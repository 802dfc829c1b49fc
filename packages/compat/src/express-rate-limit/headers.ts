import { createHash } from 'node:crypto';
import type { Response } from 'express';
import type { RateLimitInfo } from './options.ts';

/** Sets the fields of earlier versions. A limit that is not a number is an error, as in express-rate-limit. */
export function setLegacyHeaders(response: Response, { limit, remaining, resetTime }: RateLimitInfo): void {
  if (response.headersSent) return;
  response.setHeader('X-RateLimit-Limit', limit.toString());
  response.setHeader('X-RateLimit-Remaining', remaining.toString());
  if (!(resetTime instanceof Date)) return;
  response.setHeader('Date', new Date().toUTCString()); // for clients whose clock is wrong
  response.setHeader('X-RateLimit-Reset', Math.ceil(resetTime.getTime() / 1000).toString());
}

/** See https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-06. */
export function setDraft6Headers(response: Response, info: RateLimitInfo, windowMs: number): void {
  if (response.headersSent) return;
  response.setHeader('RateLimit-Policy', writePolicy(info, windowMs));
  response.setHeader('RateLimit-Limit', info.limit.toString());
  response.setHeader('RateLimit-Remaining', info.remaining.toString());
  response.setHeader('RateLimit-Reset', resetSeconds(info, windowMs));
}

/** See https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-07. */
export function setDraft7Headers(response: Response, info: RateLimitInfo, windowMs: number): void {
  if (response.headersSent) return;
  const [limit, remaining] = [String(info.limit), String(info.remaining)];
  response.setHeader('RateLimit-Policy', writePolicy(info, windowMs));
  response.setHeader('RateLimit', `limit=${limit}, remaining=${remaining}, reset=${resetSeconds(info, windowMs)}`);
}

/**
 * Appends, so that all limiters of a response are listed. See
 * https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-08.
 *
 * @param name - The name of the policy.
 */
export function setDraft8Headers(
  response: Response,
  info: RateLimitInfo,
  windowMs: number,
  name: string,
  key: string,
): void {
  if (response.headersSent) return;
  const partition = hashKey(key); // first, because a key that is not a string is an error
  const [limit, remaining] = [String(info.limit), String(info.remaining)];
  response.append('RateLimit', `"${name}"; r=${remaining}; t=${resetSeconds(info, windowMs)}`);
  response.append('RateLimit-Policy', `"${name}"; q=${limit}; w=${seconds(windowMs)}; pk=:${partition}:`);
}

/** @param retryAfter - Seconds. Default: until the window ends. */
export function setRetryAfterHeader(
  response: Response,
  info: RateLimitInfo,
  windowMs: number,
  retryAfter?: number,
): void {
  if (response.headersSent) return;
  response.setHeader('Retry-After', retryAfter?.toString() ?? resetSeconds(info, windowMs));
}

function writePolicy({ limit }: RateLimitInfo, windowMs: number): string {
  return `${String(limit)};w=${seconds(windowMs)}`;
}

/** Seconds until the window ends; its length if the store does not know. */
function resetSeconds({ resetTime }: RateLimitInfo, windowMs: number): string {
  return seconds(resetTime ? Math.max(0, resetTime.getTime() - Date.now()) : windowMs);
}

function seconds(ms: number): string {
  return Math.ceil(ms / 1000).toString();
}

/** The first 12 hexadecimal digits of the hash, in base64, as express-rate-limit writes them. */
function hashKey(key: string): string {
  return Buffer.from(createHash('sha256').update(key).digest('hex').slice(0, 12)).toString('base64');
}
