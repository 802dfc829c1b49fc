/** The text of bytes that were read as one character each. */
export function decoded(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text, 'latin1').toString('utf8');
}
