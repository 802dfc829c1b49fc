/** Reports where this process listens: to its parent process, or on standard output. */
export function announce(url: string): void {
  if (process.send === undefined) console.log(`Listening on ${url}`);
  else process.send({ url });
}

/**
 * Ends this process on Ctrl-C and SIGTERM, and when its parent process ends in any way.
 *
 * @param stop - Runs before the end, once.
 */
export function onStop(stop: () => Promise<unknown>): void {
  let isStopping = false;
  const end = (): void => {
    if (!isStopping) void stop().finally(() => process.exit());
    isStopping = true;
  };
  for (const event of ['SIGINT', 'SIGTERM', 'disconnect']) process.on(event, end);
  process.channel?.unref(); // listening for its end is no reason to live
}
