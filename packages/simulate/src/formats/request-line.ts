/** The place of the quote that ends a text; -1 where there is none before `to`. Quotes in it are escaped by `\`. */
export function endOfQuoted(text: string, from: number, to: number): number {
  let end = text.indexOf('"', from);
  while (end !== -1 && end < to && text.charCodeAt(end - 1) === BACKSLASH && isEscaped(text, end)) {
    end = text.indexOf('"', end + 1);
  }
  return end === -1 || end >= to ? -1 : end;
}

const BACKSLASH = 92;

function isEscaped(text: string, at: number): boolean {
  let count = 0;
  while (text.charCodeAt(at - 1 - count) === BACKSLASH) count++;
  return count % 2 === 1;
}

/** Method and target of a request line such as `GET /a?b HTTP/1.1`. Any other text has the method `-`. */
export function requestLine(line: string): { readonly method: string; readonly target: string } {
  const end = line.indexOf(' ');
  if (end <= 0) return { method: '-', target: '-' };
  const version = line.lastIndexOf(' HTTP/');
  return { method: line.slice(0, end), target: line.slice(end + 1, version > end ? version : line.length) };
}

/** A value of a log, or undefined for `-` and nothing. */
export function present(value: string | undefined): string | undefined {
  return value === undefined || value === '' || value === '-' ? undefined : value;
}
