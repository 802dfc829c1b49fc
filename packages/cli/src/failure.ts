import { printable } from './table.ts';

/** How the command ends. */
export const EXIT: { readonly done: 0; readonly failed: 1; readonly usage: 2 } = { done: 0, failed: 1, usage: 2 };

/** The command line or a file is wrong: nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** It could not be done, and the message says all there is to know. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** Whether an error says that no answer came in time: ioredis's own, or core's, which waits for less. */
export function isLate(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message === 'Command timed out' || (error as { kind?: unknown }).kind === 'timeout';
}

/** What an error that ends the command ends it with. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof Error)) return EXIT.failed;
  const isUsage = ['UsageError', 'PolicyError'].includes(error.name) || codeOf(error) === 'SLUICE_KEY_INVALID';
  return isUsage ? EXIT.usage : EXIT.failed;
}

/** Prints an error in one line or, with SLUICE_DEBUG=1, where it came from. */
export function tell(error: unknown): void {
  if (process.env['SLUICE_DEBUG'] === '1') {
    console.error(error);
    return;
  }
  // Names in a file and words of a server are in it.
  const lines = `sluice: ${explained(error)}`.split('\n').map(printable);
  console.error(lines.join('\n'));
}

function explained(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isDenied = /\bNOPERM\b/.test(error.message) || (error as { kind?: unknown }).kind === 'denied';
  if (isDenied)
    return `Redis does not let this user do that: ${error.message} (which rights it needs: docs/reference/cli.md)`;
  return error.message;
}

function codeOf(error: Error): unknown {
  return (error as NodeJS.ErrnoException).code;
}
