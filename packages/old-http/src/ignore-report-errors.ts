import { messageOf, warnOnce } from '@sluice/old-core/spi';

/** Runs what only reports. Its errors are warned of, and fail no request. */
export function ignoreReportErrors<T>(report: () => T | Promise<T>): T | undefined | Promise<T | undefined> {
  try {
    const reported = report();
    if (!(reported instanceof Promise)) return reported;
    return reported.catch((error: unknown) => {
      warn(error);
      return undefined;
    });
  } catch (error) {
    warn(error);
    return undefined;
  }
}

function warn(error: unknown): void {
  const what = 'a limit in report mode could not decide, and let the request pass';
  warnOnce('SLUICE_REPORT_FAILED', `${what}: ${messageOf(error)}`);
}
