// Writes the lists of options in docs/reference/options.md, from the docstrings and types of the interfaces in the
// source, which editors show too. A default in a docstring has to be that of the table of checks in the same file.
//
//   node scripts/build/options-page.mjs            writes
//   node scripts/build/options-page.mjs --check    fails when the page, or a default in a docstring, is stale
import { readFileSync, writeFileSync } from 'node:fs';
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
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

function listOf(file, name) {
  const source = ts.createSourceFile(file, readFileSync(root + file, 'utf8'), ts.ScriptTarget.Latest, true);
  const options = source.statements.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === name);
  if (options === undefined) throw new Error(`${file} has no interface ${name}`);
  const defaults = defaultsIn(source, options);
  return options.members.map((member) => item(member, defaults, file)).join('\n');
}

function item(member, defaults, file) {
  const name = member.name.getText();
  const text = docOf(member);
  const [sentence, said] = /\bDefault:? (`[^`]+`|.+?)(?:\.(?= |$)|(?=[:;,] ))/.exec(text) ?? [];
  const checked = defaults.get(name);
  if (checked !== undefined && plain(said ?? '') !== plain(checked))
    problems.push(`${file}: the docstring of ${name} says ${said ?? 'nothing'} of its default, which is ${checked}`);
  const type = typeOf(member.type);
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
  const alias = type
    .getSourceFile()
    .statements.find((node) => ts.isTypeAliasDeclaration(node) && node.name.text === type.getText());
  if (alias && ts.isUnionTypeNode(alias.type) && alias.type.types.every(ts.isLiteralTypeNode))
    return typeOf(alias.type);
  return type.getText().replace(/<Request.*>$/s, '');
}

/** The defaults of an interface's options that the table of them in its file states as literals. */
function defaultsIn(source, { name, members }) {
  const tables = source.statements
    .filter(ts.isVariableStatement)
    .flatMap((node) => node.declarationList.declarations)
    .filter(({ type }) => type?.getText().startsWith('OptionTable<'))
    .map(({ initializer }) => new Map(initializer.properties.map((option) => [option.name.getText(), option])));
  const table = tables.find((entries) => members.every((member) => entries.has(member.name.getText())));
  if (table === undefined) throw new Error(`${source.fileName} has no table of all options of ${name.text}`);
  const literals = [...table.values()]
    .filter(ts.isPropertyAssignment)
    .map((option) => [option.name.getText(), defaultOf(option.initializer)]);
  return new Map(literals.filter(([, literal]) => literal !== undefined));
}

function defaultOf(read) {
  if (ts.isArrowFunction(read)) return literalOf(read.parameters[0]?.initializer);
  if (!ts.isCallExpression(read)) return undefined;
  const [first, , third, fourth] = read.arguments;
  if (read.expression.getText() === 'oneOf') return literalOf(first.elements[0]);
  const byDefault = { valueThat: third, wholeNumber: fourth };
  const call = read.expression.getText();
  return literalOf(call in byDefault ? byDefault[call] : first);
}

function literalOf(node) {
  const isLiteral = node && (ts.isLiteralExpression(node) || /^(true|false)$/.test(node.getText()));
  return isLiteral ? node.getText() : undefined;
}

/** A default apart from how it is written: 600_000 and `600 000` are the same. */
function plain(written) {
  return written.replaceAll(/[`'"_\s]/g, '');
}
