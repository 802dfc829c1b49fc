// Header fields and the response to a denial, for a browser: no `node:` module, no store.
export { denialOf } from './response/denial.ts';
export { fieldWriter, type Field, type HeaderFormat } from './response/headers.ts';
