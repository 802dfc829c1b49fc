/** Says where this process listens: to the process that started it, or to whoever reads. */
export function announce(url: string): void {
  if (process.send === undefined) console.log(`Listening on ${url}`);
  else process.send({ url });
}

/**
 * Ends this process on Ctrl-C and SIGTERM, and when the one that started it is gone, however that went. To be called
 * before anything is waited for.
 *
 * @param stop - What is to be done before. Called once.
 * @returns Whether that has begun: what is still starting then need not go on.
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
