export { ipv4Spellings, ipv6Spellings } from './describe-adapter/addresses.ts';
export { spellingsOf } from './describe-adapter/spellings.ts';
export { exchange, listen, open, received, statuses, type Listening } from './raw-http.ts';
export { until } from './until.ts';
