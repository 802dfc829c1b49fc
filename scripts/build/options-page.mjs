// Writes the lists of options in docs/reference/options.md from the shapes and interfaces in the source: the names of
// their rows, the words that these may be, and their docstrings, which editors show too. A docstring has to tell the
// literal default of its row, also for options that are not on the page. A list may be a part of them:
// `<!-- options: FILE NAME first..last -->`.
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
  const all = listsOf(file).get(name);
  if (all === undefined) throw new Error(`${file} has no list of options ${name}`);
  const at = (row, otherwise) => (row === undefined ? otherwise : all.findIndex((one) => one.name === row));
  const items = all
    .slice(at(first, 0), at(last, all.length - 1) + 1)
    .map(({ name: option, facts, text }) => `- **\`${option}\`**: ${facts}${text}`);
  const list = await format(items.join('\n'), style);
  after = after.replace(whole, () => `${begin}\n${list}\n<!-- end -->`);
}
for (const folder of readdirSync(`${root}packages`))
  for (const file of readdirSync(`${root}packages/${folder}/src`, { recursive: true }))
    if (file.endsWith('.ts')) listsOf(`packages/${folder}/src/${file}`);
if (!process.argv.includes('--check')) writeFileSync(page, after);
else if (after !== before) problems.add('docs/reference/options.md is stale: run node scripts/build/options-page.mjs');
for (const problem of problems) console.error(problem);
process.exitCode = problems.size === 0 ? 0 : 1;

/** The shapes and interfaces of a file by their names, each a list of options. */
function listsOf(file) {
  const source = ts.createSourceFile(file, readFileSync(root + file, 'utf8'), ts.ScriptTarget.Latest, true);
  const lists = new Map();
  for (const node of source.statements) {
    if (ts.isInterfaceDeclaration(node))
      lists.set(
        node.name.text,
        node.members.filter(ts.isPropertySignature).map((member) => describe(member, member.type, source)),
      );
    if (!ts.isVariableStatement(node)) continue;
    for (const { name, initializer } of node.declarationList.declarations) {
      // Each row of a shape is what reads the option, as a Field, Optional or WithDefault of its type.
      const rows = initializer?.properties?.filter((row) => row.initializer?.type?.typeArguments) ?? [];
      const list = rows.map((row) => describe(row, row.initializer.type.typeArguments[0], source));
      for (const [i, { initializer: reads }] of rows.entries()) checkDefault(list[i], reads.expression, file);
      lists.set(name.text, list);
    }
  }
  return lists;
}

/** An option, whether it is required, and the words that it may be if its type lists them, or names such a list. */
function describe(row, type, source) {
  const named = source.statements.find((node) => ts.isTypeAliasDeclaration(node) && node.name.text === type.getText());
  const union = named?.type ?? type;
  const isOfWords = ts.isUnionTypeNode(union) && union.types.every(ts.isLiteralTypeNode);
  const isRequired = /^Field\b/.test(row.initializer?.type?.getText());
  const facts = `${isRequired ? 'required. ' : ''}${isOfWords ? `\`${union.getText()}\`. ` : ''}`;
  return { name: row.name.getText(), facts, text: docOf(row) };
}

function checkDefault({ name, text }, reads, file) {
  const [, literal] = ts.isCallExpression(reads) && reads.expression.getText() === 'withDefault' ? reads.arguments : [];
  if (text === '' || literal === undefined || !/^['"\d]|^(true|false)$/.test(literal.getText())) return;
  // However it is written: 600_000 and `600 000` are the same.
  const plain = (written) => written.replaceAll(/[`'"_\s]/g, '');
  const wanted = plain(literal.getText());
  const [, ...told] = plain(text).split(/Default:?/);
  if (!told.some((rest) => rest.startsWith(wanted) && !/^\w/.test(rest.slice(wanted.length))))
    problems.add(`${file}: the docstring of ${name} does not say "Default ${literal.getText()}"`);
}

/** The docstring as prose of the page: what it names in the documents is a link. */
function docOf(row) {
  const text = ts.getTextOfJSDocComment(ts.getJSDocCommentsAndTags(row)[0]?.comment) ?? '';
  return text
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .replaceAll(/\bdocs\/((guides|reference)\/[\w-]+\.md)/g, (_, path) => {
      const [, title] = /^# (.*)$/m.exec(readFileSync(`${root}docs/${path}`, 'utf8'));
      return `[${title}](${path.startsWith('reference/') ? path.slice('reference/'.length) : `../${path}`})`;
    })
    .replaceAll(/\s+/g, ' ');
}
