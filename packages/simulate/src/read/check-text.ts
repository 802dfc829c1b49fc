import { UsageError } from '../terminal/failure.ts';

/** How files begin that are no text of one byte a letter, and what makes it of them. */
const KINDS: readonly (readonly [beginning: string, kind: string, instead: string])[] = [
  ['\u001f\u008b', 'compressed by gzip twice', "write 'zcat LOG | sluice simulate -'"],
  ['BZh', 'compressed by bzip2', "write 'bzcat LOG | sluice simulate -'"],
  ['\u00fd7zXZ\0', 'compressed by xz', "write 'xzcat LOG | sluice simulate -'"],
  ['(\u00b5/\u00fd', 'compressed by zstd', "write 'zstdcat LOG | sluice simulate -'"],
  ['PK\u0003\u0004', 'a zip archive', "write 'unzip -p LOG | sluice simulate -'"],
  ['\u00ff\u00fe', 'UTF-16', "write 'iconv -f UTF-16 -t UTF-8 LOG | sluice simulate -'"],
  ['\u00fe\u00ff', 'UTF-16', "write 'iconv -f UTF-16 -t UTF-8 LOG | sluice simulate -'"],
];

/**
 * Checks that a log is text.
 *
 * @param text - Its beginning, a character for each byte.
 * @throws UsageError that says what it is, and what to write instead.
 */
export function checkText(text: string, name: string): void {
  for (const [beginning, kind, instead] of KINDS)
    if (text.startsWith(beginning)) throw new UsageError(`${name} is ${kind}, and no text; ${instead}`);
}
