import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds on a clock that all processes of the machine share. */
export function now() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

export { sleep };
