const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const INSISTED_AFTER_MS = 1000;

/**
 * Resolves when the time is over, or on Ctrl-C. A Ctrl-C that comes later than a second after that ends the process at once. One that comes sooner is the same
 * one again: npm passes on what has reached this process already.
 */
export async function untilStopped(durationMs: number | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    let stoppedAtMs: number | undefined;
    const stop = (): void => {
      stoppedAtMs ??= performance.now();
      clearTimeout(timer);
      resolve();
    };
    const timer = durationMs === undefined ? undefined : setTimeout(stop, durationMs);
    for (const [signal, exitCode] of Object.entries(EXIT_CODES)) {
      process.on(signal, () => {
        if (performance.now() - (stoppedAtMs ?? Infinity) > INSISTED_AFTER_MS) process.exit(exitCode);
        stop();
      });
    }
  });
}
