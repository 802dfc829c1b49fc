import type { Logger } from './options.ts';

/** Writes to the console, the message before its error. */
export const ConsoleLogger: Logger = {
  error(...args) {
    console.error(...args.reverse());
  },
  warn(...args) {
    console.warn(...args.reverse());
  },
};
