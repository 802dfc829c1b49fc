const BLOCK = /(<!-- measured: ([\w-]+) -->\n)[^]*?(<!-- end -->)/g;

/** A document with its blocks filled: `<!-- measured: name -->` to `<!-- end -->`. */
export function filled(text, blocks, name) {
  return text.replace(BLOCK, (_, begin, block, end) => {
    if (blocks[block] === undefined) throw new Error(`${name} has a block ${block}, which is not measured`);
    const lines = blocks[block].join('\n').trimEnd();
    return `${begin}\n${lines === '' ? 'Not measured yet.' : lines}\n\n${end}`;
  });
}
