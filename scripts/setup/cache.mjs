import { fileURLToPath } from 'node:url';

/** Where programs are kept that are not installed. */
export const cache = fileURLToPath(new URL('../../node_modules/.cache/sluice/', import.meta.url));
