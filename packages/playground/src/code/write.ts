/** The width of the documents' code. */
const WIDTH = 80;

/** A value as code. */
export function literal(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value);
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** An object in one line where it fits, else a line for each property. Each property may have several lines. */
export function object(properties: readonly string[], indent: number, taken = indent): string {
  if (properties.length === 0) return '{}';
  const line = `{ ${properties.join(', ')} }`;
  if (!line.includes('\n') && taken + line.length <= WIDTH) return line;
  return `{\n${indented(properties, indent + 2)}${' '.repeat(indent)}}`;
}

/** A list, of which every item has a line. */
export function list(items: readonly string[], indent: number): string {
  return `[\n${indented(items, indent + 2)}${' '.repeat(indent)}]`;
}

function indented(items: readonly string[], indent: number): string {
  return items.map((item) => `${' '.repeat(indent)}${item},\n`).join('');
}
