/**
 * From so many characters on, a string that was cut from a longer one may be a view that keeps the longer one alive.
 */
const SHORTEST_VIEW = 13;

/** The same text on its own: a path that was cut from a URL of 16 kB is kept without that URL. */
export function ownText(text: string): string {
  if (text.length < SHORTEST_VIEW) return text;
  const encoding = text.isWellFormed() ? 'utf8' : 'utf16le';
  return Buffer.from(text, encoding).toString(encoding);
}
