import { UsageError } from '../../failure.ts';
import { Csv } from './csv.ts';
import { PARTS, readEntry, USUAL, type LogFormat, type Names } from './entry.ts';
import { FormatString } from './format-string.ts';
import { JsonLines } from './json-lines.ts';

export const FORMATS = 'combined, json, json:time=PATH,..., csv, csv:NAME,...';
/** How many lines are tried. */
const MAX_TRIED = 20;

const EXAMPLE = `'$remote_addr [$time_local] "$request" $status'`;
/** The end of errors about lines of an unknown format. */
export const WRITE_FORMAT = `write --format with one of ${FORMATS}, or with a format string such as ${EXAMPLE}`;

/**
 * Creates the format that `--format` names: one for each log.
 *
 * @throws UsageError for a text that is not a format.
 */
export function formatMaker(text: string): () => LogFormat {
  const [, kind = text, names = ''] = /^(json|csv)(?::(.*))?$/s.exec(text) ?? [];
  if (text === 'combined') return () => FormatString.combined();
  if (kind === 'csv' && names !== '' && !names.includes('=')) return () => new Csv({}, names.split(','));
  if (kind === 'json' || kind === 'csv') {
    const own = readNames(kind, names);
    return () => (kind === 'csv' ? new Csv(own) : new JsonLines({ ...USUAL, ...own }));
  }
  if (/^[\w-]+$/.test(text)) {
    throw new UsageError(`there is no format ${JSON.stringify(text)}; known: ${FORMATS}, or a format string`);
  }
  const format = new FormatString(text); // it remembers nothing
  return () => format;
}

/** The names of `json:time=ts,address=client.ip`, which replace the usual ones. */
function readNames(kind: string, text: string): Partial<Names> {
  const pairs = text.split(',').filter((pair) => pair !== '');
  const own = pairs.map((pair) => {
    const [name = '', path = ''] = pair.split('=', 2);
    if (PARTS.includes(name) && path !== '') return [name, [path]];
    const expected = `--format ${kind} takes names such as time=ts, of ${PARTS.join(', ')}`;
    throw new UsageError(`${expected}; got ${JSON.stringify(pair)}`);
  });
  return Object.fromEntries(own) as Partial<Names>;
}

/**
 * The format of a log, by its first lines.
 *
 * @throws UsageError if they match none.
 */
export function detectFormat(lines: readonly string[], name: string): LogFormat {
  const tried = lines.slice(0, MAX_TRIED);
  for (const make of [() => new JsonLines(), () => FormatString.combined(), () => new Csv()]) {
    const format = make();
    const read = tried.filter((line) => readEntry(format, line) !== undefined);
    if (read.length * 2 > tried.length) return make();
  }
  throw new UsageError(`${name}: the first lines match no known format; ${WRITE_FORMAT}`);
}
