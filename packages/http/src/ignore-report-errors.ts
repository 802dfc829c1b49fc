import { messageOf, warnOnce } from '@sluice/core/spi';

/**
 * Runs what only reports. Its errors are warned of, and fail no request.
 *
 * @param what - Begins the warning.
 */
export function ignoreReportErrors<T>(
  report: () => T | Promise<T>,
  what = 'a limit in report mode could not decide, and let the request pass',
): T | undefined | Promise<T | undefined> {
  try {
    const reported = report();
    if (!(reported instanceof Promise)) return reported;
    return reported.catch((error: unknown) => {
      warn(what, error);
      return undefined;
    });
  } catch (error) {
    warn(what, error);
    return undefined;
  }
}

function warn(what: string, error: unknown): void {
  warnOnce('SLUICE_REPORT_FAILED', `${what}: ${messageOf(error)}`);
}
