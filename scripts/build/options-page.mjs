// Writes the lists of options in docs/reference/options.md, from the docstrings and types of the interfaces in the
// source, which editors show too. A default in a docstring has to be that of the table of checks in the same file: also
// for options that are not on the page. See docs/adr/0096-an-option-is-a-member-and-a-row.md.
//
//   node scripts/build/options-page.mjs            writes
//   node scripts/build/options-page.mjs --check    fails when the page, or a default in a docstring, is stale
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = `${root}docs/reference/options.md`;
const problems = [];

const style = { ...(await resolveConfig(page)), parser: 'markdown', printWidth: 120, proseWrap: 'always' };
const before = readFileSync(page, 'utf8');
let after = before;
for (const [whole, begin, file, name] of before.matchAll(/(<!-- options: (\S+) (\w+) -->\n).*?<!-- end -->/gs)) {
  const list = await format(listOf(file, name), style);
  after = after.replace(whole, () => `${begin}\n${list}\n<!-- end -->`);
}
if (process.argv.includes('--check')) {
  if (after !== before) problems.push('docs/reference/options.md is stale: run node scripts/build/options-page.mjs');
} else {
  writeFileSync(page, after);
}
for (const file of filesWithTables()) checkDefaults(file);
for (const problem of new Set(problems)) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

function listOf(file, name) {
  const source = sourceOf(file);
  const options = source.statements.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === name);
  if (options === undefined) throw new Error(`${file} has no interface ${name}`);
  const table = tableOf(source, options);
  if (table === undefined) throw new Error(`${file} has no table of all options of ${name}`);
  return options.members.map((member) => item(member, table.get(member.name.getText()), file)).join('\n');
}

function filesWithTables() {
  const files = readdirSync(`${root}packages`).flatMap((folder) =>
    readdirSync(`${root}packages/${folder}/src`, { recursive: true }).map((file) => `packages/${folder}/src/${file}`),
  );
  return files.filter((file) => file.endsWith('.ts') && readFileSync(root + file, 'utf8').includes(': OptionTable<'));
}

function sourceOf(file) {
  return ts.createSourceFile(file, readFileSync(root + file, 'utf8'), ts.ScriptTarget.Latest, true);
}

/** The rows of every interface of a file that has a table there. */
function checkDefaults(file) {
  const source = sourceOf(file);
  for (const options of source.statements.filter(ts.isInterfaceDeclaration)) {
    const table = options.members.length === 0 ? undefined : tableOf(source, options);
    for (const member of table === undefined ? [] : options.members) {
      if (docOf(member) !== '') defaultsOf(member, table.get(member.name.getText()), file);
    }
  }
}

/** The default of an option: as its docstring says it, in which sentence, and as the row states it where that is a literal. */
function defaultsOf(member, row, file) {
  const [sentence, said] = /\bDefault:? (`[^`]+`|.+?)(?:\.(?= |$)|(?=[:;,] ))/.exec(docOf(member)) ?? [];
  const checked = defaultOf(row);
  if (checked !== undefined && plain(said ?? '') !== plain(checked))
    problems.push(
      `${file}: the docstring of ${member.name.getText()} says ${said ?? 'nothing'} of its default, which is ${checked}`,
    );
  return { sentence, said, checked };
}

function item(member, row, file) {
  const name = member.name.getText();
  const text = docOf(member);
  const { sentence, said, checked } = defaultsOf(member, row, file);
  const type = wordsOf(row) ?? typeOf(member.type);
  // The default is written once: of a sentence that says more than it, in that sentence.
  const isAlone = sentence?.endsWith('.') === true;
  const byDefault = !isAlone ? undefined : checked?.startsWith("'") ? `\`${checked}\`` : said;
  const isShown = /^(boolean|number|string)$/.test(type) && /^`?['\d]|^`?(true|false)/.test(byDefault ?? '');
  const isOfATypeAlone = /^[A-Z]\w*(<\w+>)?( \| [A-Z]\w*)*$/.test(type);
  const [meaning, guide] = apart(isAlone ? text.replace(sentence, '').replace(/ {2,}/g, ' ').trim() : text);
  const facts = [
    isShown || isOfATypeAlone ? [] : `\`${type}\``,
    member.questionToken ? [] : 'required',
    byDefault === undefined ? [] : `default ${byDefault}`,
  ].flat();
  const title = guide === undefined ? `\`${name}\`` : `[\`${name}\`](${guide})`;
  return `- **${title}**: ${facts.length === 0 ? '' : `${facts.join(', ')}. `}${meaning}`;
}

/** What an option means, and the page that its last sentence names: the option's name is the link. */
function apart(text) {
  const [named, page] = /(?:[:,]? see|\. See|^See) \[[^\]]+\]\(([^)]+)\)\.$/.exec(text) ?? [];
  return named === undefined ? [text, undefined] : [`${text.slice(0, -named.length)}.`, page];
}

/** The docstring as prose of the page: what it names in the documents is a link. */
function docOf(member) {
  const text = ts.getTextOfJSDocComment(ts.getJSDocCommentsAndTags(member)[0]?.comment) ?? '';
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

/** A type as users think of it: without undefined, type arguments and the types of parameters. */
function typeOf(type) {
  if (ts.isParenthesizedTypeNode(type)) return typeOf(type.type);
  if (ts.isUnionTypeNode(type)) {
    const kinds = type.types.filter(({ kind }) => kind !== ts.SyntaxKind.UndefinedKeyword);
    return kinds.map(typeOf).join(' | ');
  }
  if (ts.isFunctionTypeNode(type)) {
    const given = type.parameters.map(({ name }) =>
      name.text === 'context' ? '{ key, request, response }' : name.text,
    );
    return `(${given.join(', ')}) => ${type.type.getText().replace('MaybePromise<boolean>', 'boolean')}`;
  }
  if (type.typeName?.getText() === 'OfRequest') return `(request, response) => ${typeOf(type.typeArguments[2])}`;
  return type.getText().replace(/<Request.*>$/s, '');
}

/** The rows of an interface's options, by name. Undefined where its file has no table with all of them. */
function tableOf(source, { members }) {
  return source.statements
    .filter(ts.isVariableStatement)
    .flatMap((node) => node.declarationList.declarations)
    .filter(({ type, initializer }) => type?.getText().startsWith('OptionTable<') && initializer?.properties)
    .map(({ initializer }) => new Map(initializer.properties.map((row) => [row.name?.getText(), row.initializer])))
    .find((rows) => members.every((member) => rows.has(member.name?.getText())));
}

/** The words that a row takes, whatever the interface calls their type. */
function wordsOf(row) {
  if (row === undefined || !ts.isCallExpression(row)) return undefined;
  const [first] = row.arguments;
  if (row.expression.getText() === 'optional') return wordsOf(first);
  return row.expression.getText() === 'oneOf' ? first.elements?.map((word) => word.getText()).join(' | ') : undefined;
}

/** The default that a row states as a literal. */
function defaultOf(row) {
  if (row === undefined) return undefined;
  if (ts.isArrowFunction(row)) return literalOf(row.parameters[0]?.initializer);
  if (!ts.isCallExpression(row)) return undefined;
  const [first, , third, fourth] = row.arguments;
  const byDefault = {
    flag: first,
    timerMs: first,
    duration: first,
    oneOf: first?.elements?.[0],
    valueThat: third,
    wholeNumber: fourth,
  };
  return literalOf(byDefault[row.expression.getText()]);
}

function literalOf(node) {
  const isLiteral =
    node && (node.text !== undefined || /^(true|false)$/.test(node.getText())) && !ts.isIdentifier(node);
  return isLiteral ? node.getText() : undefined;
}

/** A default apart from how it is written: 600_000 and `600 000` are the same. */
function plain(written) {
  return written.replaceAll(/[`'"_\s]/g, '');
}
