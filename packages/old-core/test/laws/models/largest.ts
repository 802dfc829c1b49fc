/** The largest integer of a structured header field (RFC 9651), hence the largest limit: fifteen digits. */
export const LARGEST_LIMIT = 10 ** 15 - 1;
