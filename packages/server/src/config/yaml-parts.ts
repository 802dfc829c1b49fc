import { isCollection, isMap, isPair, type CST, type Document, type Node, type Pair, type YAMLMap } from 'yaml';

/** Items of a list or a map that are composed at once. */
const AT_ONCE = 64;

type BlockMap = CST.BlockMap;
type BlockItems = CST.BlockMap | CST.BlockSequence;

/**
 * The tokens of a document as those of several: one for each field, and of a field with many items one for every 64 of
 * them. `Composer` composes a document at once, which takes a second for 30 000 rules.
 *
 * @returns The document alone where it is short, or is no block map.
 */
export function partsOf(document: CST.Document): readonly CST.Document[] {
  const { value } = document;
  if (value?.type !== 'block-map' || !value.items.some((item) => itemsOf(item).length > AT_ONCE)) return [document];
  const parts = value.items.flatMap((item) => slicesOf(item)).map((item) => partOf(document, value, item));
  return parts.map((part, i) =>
    i === parts.length - 1 && document.end !== undefined ? { ...part, end: document.end } : part,
  );
}

function partOf(document: CST.Document, map: BlockMap, item: BlockMap['items'][number]): CST.Document {
  const { type, offset } = document;
  return { type, offset, start: [], value: { ...map, offset: beginOf(item) ?? map.offset, items: [item] } };
}

/** A field with some of its items each; the field itself where it has few. */
function slicesOf(field: BlockMap['items'][number]): readonly BlockMap['items'][number][] {
  const items = itemsOf(field);
  if (items.length <= AT_ONCE) return [field];
  const value = field.value as BlockItems;
  const slices: BlockMap['items'][number][] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const own = items.slice(at, at + AT_ONCE);
    const offset = at === 0 ? value.offset : (beginOf(own[0]) ?? value.offset);
    slices.push(Object.assign({}, field, { value: { ...value, offset, items: own } as BlockItems }));
  }
  return slices;
}

function itemsOf({ value }: BlockMap['items'][number]): BlockItems['items'] {
  return value?.type === 'block-seq' || value?.type === 'block-map' ? value.items : [];
}

/** Where an item begins: the composer measures keys from there. */
function beginOf(item: BlockItems['items'][number] | undefined): number | undefined {
  return item?.start[0]?.offset ?? (item !== undefined && 'key' in item ? item.key?.offset : undefined);
}

/** Joins composed parts into the first one: what was one field is one field again. */
export function joinParts([first, ...others]: readonly [Document.Parsed, ...Document.Parsed[]]): Document.Parsed {
  const root = first.contents as Node | null;
  if (others.length === 0 || !isMap(root)) return first;
  for (const { contents } of others) {
    if (!isMap(contents as Node | null)) continue;
    for (const pair of (contents as unknown as YAMLMap).items) joinField(root, pair);
  }
  return first;
}

function joinField(root: YAMLMap, pair: Pair): void {
  const [key, last] = [pair.key as Node, root.items.at(-1)];
  const before = last?.value;
  // Slices of one field have one key: the same token.
  if (!isCollection(before) || !isCollection(pair.value) || (last?.key as Node).range?.[0] !== key.range?.[0]) {
    root.items.push(pair);
    return;
  }
  (before.items as unknown[]).push(...(pair.value.items as unknown[]));
  if (before.range && pair.value.range) before.range = [before.range[0], pair.value.range[1], pair.value.range[2]];
}

/** The nodes of a document in their order, in parts that are short: what has many items first, and then these. */
export function* shortNodesOf(
  contents: Node | null,
): Generator<{ readonly node: Node | Pair; readonly isWhole: boolean }> {
  if (!isMap(contents)) {
    if (contents !== null) yield { node: contents, isWhole: true };
    return;
  }
  yield { node: contents, isWhole: false };
  for (const pair of contents.items) {
    const { value } = pair;
    if (!isCollection(value) || value.items.length <= AT_ONCE) {
      yield { node: pair, isWhole: true };
      continue;
    }
    yield { node: pair.key as Node, isWhole: true };
    yield { node: value, isWhole: false };
    for (const item of value.items)
      if (isPair(item) || item !== null) yield { node: item as Node | Pair, isWhole: true };
  }
}
