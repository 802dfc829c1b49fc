// Writes the lists of options in docs/reference/options.md from the shapes and interfaces in the source: names, types,
// docstrings and defaults of their rows, which editors show too. A literal default of a row has to be that of its
// docstring, also for options that are not on the page. A list may be a part: `<!-- options: FILE NAME first..last -->`.
//
//   node scripts/build/options-page.mjs            writes
//   node scripts/build/options-page.mjs --check    fails if the page, or a default in a docstring, is stale
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = `${root}docs/reference/options.md`;
const problems = new Set();

const style = { ...(await resolveConfig(page)), parser: 'markdown', printWidth: 120, proseWrap: 'always' };
const before = readFileSync(page, 'utf8');
let after = before;
for (const [whole, begin, file, name, first, last] of before.matchAll(
  /(<!-- options: (\S+) (\w+)(?: (\w+)\.\.(\w+))? -->\n).*?<!-- end -->/gs,
)) {
  const all = shapesOf(file).get(name);
  if (all === undefined) throw new Error(`${file} has no shape ${name}`);
  const at = (row, otherwise) => (row === undefined ? otherwise : all.findIndex((one) => one.name === row));
  const rows = all.slice(at(first, 0), at(last, all.length - 1) + 1);
  const list = await format(rows.map(item).join('\n'), style);
  after = after.replace(whole, () => `${begin}\n${list}\n<!-- end -->`);
}
for (const folder of readdirSync(`${root}packages`)) {
  for (const file of readdirSync(`${root}packages/${folder}/src`, { recursive: true })) {
    if (file.endsWith('.ts')) shapesOf(`packages/${folder}/src/${file}`);
  }
}
if (!process.argv.includes('--check')) writeFileSync(page, after);
else if (after !== before) problems.add('docs/reference/options.md is stale: run node scripts/build/options-page.mjs');
for (const problem of problems) console.error(problem);
process.exitCode = problems.size === 0 ? 0 : 1;

/** The shapes and interfaces of a file by their names, each a list of rows. */
function shapesOf(file) {
  const text = readFileSync(root + file, 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const shapes = new Map();
  for (const { name, members } of source.statements.filter(ts.isInterfaceDeclaration))
    shapes.set(
      name.text,
      members.filter(ts.isPropertySignature).map((member) => readMember(member, source)),
    );
  for (const { name, initializer } of source.statements
    .filter(ts.isVariableStatement)
    .flatMap((node) => node.declarationList.declarations)) {
    const rows = initializer?.properties?.filter((row) => /^(Field|Optional|WithDefault)$/.test(kindOf(row))) ?? [];
    if (rows.length > 0)
      shapes.set(
        name.text,
        rows.map((row) => readRow(row, file)),
      );
  }
  return shapes;
}

/** Field, Optional or WithDefault. */
function kindOf({ initializer }) {
  return initializer?.type?.typeName?.getText() ?? '';
}

function readRow(row, file) {
  const name = row.name.getText();
  const { expression, type } = row.initializer;
  const text = docOf(row);
  const { sentence, said } = defaultIn(text);
  const [read, literal] = kindOf(row) === 'WithDefault' ? callOf(expression, 'withDefault') : [expression];
  const checked = literal !== undefined && isLiteral(literal) ? literal.getText() : undefined;
  if (text !== '' && checked !== undefined && plain(said ?? '') !== plain(checked))
    problems.add(`${file}: the docstring of ${name} says ${said ?? 'nothing'} about its default, which is ${checked}`);
  const [inner] = callOf(read, 'optional');
  const [words] = callOf(inner ?? read, 'oneOf');
  const kind = words?.elements?.map((word) => word.getText()).join(' | ') ?? type.typeArguments[0].getText();
  return { name, text, sentence, said, checked, kind, isRequired: kindOf(row) === 'Field' };
}

/** What a docstring says about a default, and the sentence that says it. */
function defaultIn(text) {
  const [sentence, said] = /\bDefault:? (`[^`]+`|.+?)(?:\.(?= |$)|(?=[:;,] ))/.exec(text) ?? [];
  return { sentence, said };
}

function readMember(member, source) {
  const text = docOf(member);
  const { sentence, said } = defaultIn(text);
  return {
    name: member.name.getText(),
    text,
    sentence,
    said,
    kind: written(member.type, source),
    isRequired: !member.questionToken,
  };
}

/** A type as the page shows it: functions by the names of their parameters, and aliases of words as these words. */
function written(type, source) {
  if (ts.isParenthesizedTypeNode(type)) return written(type.type, source);
  if (ts.isUnionTypeNode(type))
    return type.types
      .filter((part) => part.kind !== ts.SyntaxKind.UndefinedKeyword)
      .map((part) => written(part, source))
      .join(' | ');
  if (ts.isFunctionTypeNode(type))
    return `(${type.parameters.map(({ name, type: of }) => (ts.isTypeLiteralNode(of) ? `{ ${of.members.map((each) => each.name.getText()).join(', ')} }` : name.getText())).join(', ')}) => ${type.type.getText()}`;
  const name = type.typeName?.getText();
  if (name === 'OfRequest') return `(request, response) => ${type.typeArguments[2].getText()}`;
  const alias = source.statements.find((node) => ts.isTypeAliasDeclaration(node) && node.name.text === name);
  return alias?.type.types?.every(ts.isLiteralTypeNode) ? alias.type.getText() : type.getText();
}

/** The arguments of a call of this function. */
function callOf(node, name) {
  return node !== undefined && ts.isCallExpression(node) && node.expression.getText() === name ? node.arguments : [];
}

function isLiteral(node) {
  return !ts.isIdentifier(node) && (node.text !== undefined || /^(true|false)$/.test(node.getText()));
}

function item({ name, text, sentence, said, checked, kind, isRequired }) {
  // The default is written once: of a sentence that says more than it, in that sentence.
  const isAlone = sentence?.endsWith('.') === true;
  const byDefault = !isAlone ? undefined : checked?.startsWith("'") ? `\`${checked}\`` : said;
  const isShown = /^(boolean|number|string)$/.test(kind) && /^`?['\d]|^`?(true|false)/.test(byDefault ?? '');
  const isOfATypeAlone = /^[A-Z]\w*(<.*>)?( \| [A-Z]\w*)*$/.test(kind);
  const [meaning, guide] = apart(isAlone ? text.replace(sentence, '').replace(/ {2,}/g, ' ').trim() : text);
  const facts = [
    isShown || isOfATypeAlone ? [] : `\`${kind}\``,
    isRequired ? 'required' : [],
    byDefault === undefined ? [] : `default ${byDefault}`,
  ].flat();
  const title = guide === undefined ? `\`${name}\`` : `[\`${name}\`](${guide})`;
  return `- **${title}**: ${facts.length === 0 ? '' : `${facts.join(', ')}. `}${meaning}`;
}

/** What an option means, and the page that its last sentence names: the option's name is the link. */
function apart(text) {
  const [named, link] = /(?:[:,]? see|\. See|^See) \[[^\]]+\]\(([^)]+)\)\.$/.exec(text) ?? [];
  return named === undefined ? [text, undefined] : [`${text.slice(0, -named.length)}.`, link];
}

/** The docstring as prose of the page: what it names in the documents is a link. */
function docOf(row) {
  const text = ts.getTextOfJSDocComment(ts.getJSDocCommentsAndTags(row)[0]?.comment) ?? '';
  return text
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .replaceAll(/\bdocs\/((guides|reference)\/[\w-]+\.md)/g, (_, path) => `[${titleOf(path)}](${linkTo(path)})`)
    .replaceAll(/\s+/g, ' ');
}

function titleOf(path) {
  return /^# (.*)$/m.exec(readFileSync(`${root}docs/${path}`, 'utf8'))[1];
}

function linkTo(path) {
  return path.startsWith('reference/') ? path.slice('reference/'.length) : `../${path}`;
}

/** A default apart from how it is written: 600_000 and `600 000` are the same. */
function plain(written) {
  return written.replaceAll(/[`'"_\s]/g, '');
}
