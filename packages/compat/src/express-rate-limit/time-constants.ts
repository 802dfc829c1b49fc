/** Milliseconds. */
export const SECOND: number = 1000;
/** Milliseconds. */
export const MINUTE: number = 60 * SECOND;
/** Milliseconds. */
export const HOUR: number = 60 * MINUTE;
/** Milliseconds. */
export const DAY: number = 24 * HOUR;
