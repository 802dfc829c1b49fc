import type { PolicyOverride } from '@sluice/old-managed';
import { printable } from '@sluice/simulate/terminal';
import { writtenInstant } from './written.ts';

/** The key of an override, or its prefix with a star: `org-7:*`. */
export function keysOf({ target }: PolicyOverride): string {
  return typeof target === 'string' ? target : `${target.prefix}*`;
}

/** When it ends, as the end of a sentence. */
export function endOf({ untilMs }: PolicyOverride): string {
  return untilMs === null ? '' : `, until ${writtenInstant(untilMs)}`;
}

/** Who set it, and why. */
export function auditText({ by, reason }: PolicyOverride): string {
  return ` (${printable(by ?? 'unknown')}: ${printable(reason ?? 'no reason')})`;
}
