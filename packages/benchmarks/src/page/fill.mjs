const PLACE = /(<!-- measured: ([\w-]+) -->\n)[^]*?(<!-- end -->)/g;

/** A document with its places filled: `<!-- measured: name -->` to `<!-- end -->`. */
export function filled(text, blocks, name) {
  return text.replace(PLACE, (_, begin, block, end) => {
    if (blocks[block] === undefined) throw new Error(`${name} has a place for ${block}, which is not measured`);
    const lines = blocks[block].join('\n').trimEnd();
    return `${begin}\n${lines === '' ? 'Not measured yet.' : lines}\n\n${end}`;
  });
}
