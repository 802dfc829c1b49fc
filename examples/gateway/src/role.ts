/** Says where this process listens: to the process that started it, or to whoever reads. */
export function announce(url: string): void {
  if (process.send === undefined) console.log(`Listening on ${url}`);
  else process.send({ url });
}

/**
 * Ends in order on Ctrl-C and SIGTERM, and when the process that started this one is gone, however it went.
 *
 * @param stop - Lets go of all that keeps this process alive. Called once.
 */
export function onStop(stop: () => Promise<unknown>): void {
  let stopping = false;
  const once = (): void => {
    if (stopping) return;
    stopping = true;
    stop().catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  };
  process.on('SIGINT', once);
  process.on('SIGTERM', once);
  process.on('disconnect', once);
  process.channel?.unref(); // listening for its end is no reason to live
}
