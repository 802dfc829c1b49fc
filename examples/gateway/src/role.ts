/** Reports where this process listens: to its parent process, or on standard output. */
export function announce(url: string): void {
  if (process.send === undefined) console.log(`Listening on ${url}`);
  else process.send({ url });
}

/**
 * Ends this process on Ctrl-C and SIGTERM, and when its parent process ends in any way. Call it before the first
 * `await`.
 *
 * @param stop - Runs before the end, once.
 * @returns Whether the end has begun, so that work that is still starting can stop.
 */
export function onStop(stop: () => Promise<unknown>): () => boolean {
  let stopping = false;
  const end = (): void => {
    if (stopping) return;
    stopping = true;
    stop().then(
      () => process.exit(),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
  process.on('disconnect', end);
  process.channel?.unref(); // listening for its end is no reason to live
  return () => stopping;
}
