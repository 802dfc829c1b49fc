import { createHash } from 'node:crypto';
import type { Response } from 'express';
import type { DraftHeadersVersion, RateLimitInfo } from './options.ts';

export const SUPPORTED_DRAFT_VERSIONS: readonly DraftHeadersVersion[] = ['draft-6', 'draft-7', 'draft-8'];

/** The fields of earlier versions. */
export function setLegacyHeaders(response: Response, { limit, remaining, resetTime }: RateLimitInfo): void {
  if (response.headersSent) return;
  response.setHeader('X-RateLimit-Limit', String(limit));
  response.setHeader('X-RateLimit-Remaining', String(remaining));
  if (!(resetTime instanceof Date)) return;
  response.setHeader('Date', new Date().toUTCString()); // for clients whose clock is wrong
  response.setHeader('X-RateLimit-Reset', String(Math.ceil(resetTime.getTime() / 1000)));
}

/** See https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-06. */
export function setDraft6Headers(response: Response, info: RateLimitInfo, windowMs: number): void {
  if (response.headersSent) return;
  response.setHeader('RateLimit-Policy', policyOf(info, windowMs));
  response.setHeader('RateLimit-Limit', String(info.limit));
  response.setHeader('RateLimit-Remaining', String(info.remaining));
  response.setHeader('RateLimit-Reset', String(resetSeconds(info, windowMs)));
}

/** See https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-07. */
export function setDraft7Headers(response: Response, info: RateLimitInfo, windowMs: number): void {
  if (response.headersSent) return;
  const { limit, remaining } = info;
  const reset = String(resetSeconds(info, windowMs));
  response.setHeader('RateLimit-Policy', policyOf(info, windowMs));
  response.setHeader('RateLimit', `limit=${String(limit)}, remaining=${String(remaining)}, reset=${reset}`);
}

/**
 * Appends, so that several limiters of one response are all stated. See
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
  const { limit, remaining } = info;
  const reset = String(resetSeconds(info, windowMs));
  const partition = partitionKey(key); // first, because a key that is no text is an error
  response.append('RateLimit', `"${name}"; r=${String(remaining)}; t=${reset}`);
  response.append(
    'RateLimit-Policy',
    `"${name}"; q=${String(limit)}; w=${String(Math.ceil(windowMs / 1000))}; pk=:${partition}:`,
  );
}

/** @param retryAfter - Seconds. Default: until the window ends. */
export function setRetryAfterHeader(
  response: Response,
  info: RateLimitInfo,
  windowMs: number,
  retryAfter?: number,
): void {
  if (response.headersSent) return;
  response.setHeader('Retry-After', String(retryAfter ?? resetSeconds(info, windowMs)));
}

function policyOf({ limit }: RateLimitInfo, windowMs: number): string {
  return `${String(limit)};w=${String(Math.ceil(windowMs / 1000))}`;
}

/** Seconds until the window ends; its length where the store does not tell. */
function resetSeconds({ resetTime }: RateLimitInfo, windowMs: number): number {
  if (!resetTime) return Math.ceil(windowMs / 1000);
  return Math.max(0, Math.ceil((resetTime.getTime() - Date.now()) / 1000));
}

/** The first 12 hexadecimal digits of the hash, and these in base64: express-rate-limit writes them so. */
function partitionKey(key: string): string {
  return Buffer.from(createHash('sha256').update(key).digest('hex').slice(0, 12)).toString('base64');
}
