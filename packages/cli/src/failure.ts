import { printable } from './text.ts';

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

/** Whether Redis did not answer in time. */
export function isLate(error: unknown): boolean {
  const { message, kind } = error as Error & { readonly kind?: unknown };
  return message === 'Command timed out' || kind === 'timeout';
}

/** The exit code for an error that ends the command. */
export function getExitCode(error: unknown): number {
  const { name, code } = error as NodeJS.ErrnoException;
  return ['UsageError', 'PolicyError'].includes(name) || code === 'SLUICE_KEY_INVALID' ? EXIT.usage : EXIT.failed;
}

/** Prints an error in one line or, with SLUICE_DEBUG=1, with its stack. */
export function printError(error: unknown): void {
  if (process.env['SLUICE_DEBUG'] === '1') {
    console.error(error);
    return;
  }
  const { message, cause, kind } = error as Error & { readonly kind?: unknown };
  const isDenied = /\bNOPERM\b/.test(message) || kind === 'denied';
  const explained = isDenied
    ? `Redis denies this user a command: ${message} (the rights it needs: ${RIGHTS})`
    : message;
  // Editors find `path:line:column: message` at the beginning of a line.
  const isAboutFile = (cause as Error | undefined)?.name === 'ConfigurationError';
  // The message may quote names from a file and text from the server.
  console.error(`${isAboutFile ? '' : 'sluice: '}${explained}`.split('\n').map(printable).join('\n'));
}

const RIGHTS = 'https://sluice.example/packages/cli';
