export type LoggerFn = (error: unknown, message?: string) => void;

/** Where errors and warnings are written. */
export interface Logger {
  error: LoggerFn;
  warn: LoggerFn;
}

/** Writes to the console, the message before its error. */
export const ConsoleLogger: Logger = {
  error(...args) {
    console.error(...args.reverse());
  },
  warn(...args) {
    console.warn(...args.reverse());
  },
};
