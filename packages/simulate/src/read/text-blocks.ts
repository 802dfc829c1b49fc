const NEWLINE = 10;
/** The rest of a longer line, which is no request, is left out. */
const LONGEST_LINE = 1024 * 1024;
/** The mark of UTF-8 that editors and exports write before the first line. */
const MARK = '\u00ef\u00bb\u00bf';

/**
 * Cuts bytes into texts of whole lines, each ended by a line break. A character stands for a byte: what is shown is
 * decoded then, see `decoded`.
 */
export async function* textBlocks(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const text of blocks(bytes)) {
    yield isFirst && text.startsWith(MARK) ? text.slice(MARK.length) : text;
    isFirst = false;
  }
}

async function* blocks(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of bytes) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end === 0) {
      if (rest.length < LONGEST_LINE) rest += chunk.toString('latin1');
      continue;
    }
    const start = rest.length < LONGEST_LINE ? 0 : chunk.indexOf(NEWLINE);
    yield rest + chunk.toString('latin1', start, end);
    rest = chunk.toString('latin1', end);
  }
  if (rest !== '') yield `${rest}\n`;
}
