import { SITE } from '@sluice/old-core/spi';
import { printable } from './table.ts';

/** Exit codes of the command. */
export const EXIT: { readonly done: 0; readonly failed: 1; readonly usage: 2 } = { done: 0, failed: 1, usage: 2 };

/** The command line or a file is wrong; nothing was changed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command failed; its message is complete, without a stack. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** Whether an error is a timeout: that of ioredis, or the shorter one of core. */
export function isLate(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message === 'Command timed out' || (error as { kind?: unknown }).kind === 'timeout';
}

/** The exit code for an error that ends the command. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof Error)) return EXIT.failed;
  const isUsage = ['UsageError', 'PolicyError'].includes(error.name) || codeOf(error) === 'SLUICE_KEY_INVALID';
  return isUsage ? EXIT.usage : EXIT.failed;
}

/** Prints an error in one line or, with SLUICE_DEBUG=1, with its stack. */
export function printError(error: unknown): void {
  if (process.env['SLUICE_DEBUG'] === '1') {
    console.error(error);
    return;
  }
  // The message may quote names of a file and text of the server.
  const lines = `${isAboutFile(error) ? '' : 'sluice: '}${explained(error)}`.split('\n').map(printable);
  console.error(lines.join('\n'));
}

/** Editors find `path:line:column: message` at the beginning of a line. */
function isAboutFile(error: unknown): boolean {
  return error instanceof UsageError && (error.cause as Error | undefined)?.name === 'ConfigurationError';
}

function explained(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isDenied = /\bNOPERM\b/.test(error.message) || (error as { kind?: unknown }).kind === 'denied';
  if (isDenied)
    return `Redis denies this user a command: ${error.message} (the rights it needs: ${SITE}/reference/cli)`;
  return error.message;
}

function codeOf(error: Error): unknown {
  return (error as NodeJS.ErrnoException).code;
}
