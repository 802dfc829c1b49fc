import { existsSync, readdirSync } from 'node:fs';
import luaparse from 'luaparse';

const WHOLE_NUMBER = 'algorithms/whole-number.lua';
const parts = (names) => names.map((name) => `stores/redis/lua/${name}.lua`);

/** The Lua before all kernels, and that before each kernel that uses it: common kernels do without. */
export const BEFORE_ALL = 'algorithms/instant-and-field.lua';
export const beforeKernel = (kernel) =>
  parse(kernel).globals.some(({ name }) => name === 'to_integer') ? [WHOLE_NUMBER] : [];

/** Numbers of a policy that lua/single.lua reads. */
const MOST_NUMBERS = 4;

function parse(lua) {
  return luaparse.parse(lua, { luaVersion: '5.1', ranges: true, scope: true });
}

function withoutNodes(lua, nodes) {
  return nodes.toReversed().reduce((code, { range: [from, to] }) => code.slice(0, from) + code.slice(to), lua);
}

/** Lua without its comments, whose lines stay where they are. Reads tokens alone: what is linted may be no Lua 5.1. */
export function withoutComments(lua) {
  const comments = [];
  const onCreateNode = ({ type, range }) => {
    if (type === 'Comment') comments.push(range);
  };
  const withoutShebang = lua.replace(/^#!.*/, (line) => ' '.repeat(line.length));
  const lexer = luaparse.parse(withoutShebang, { wait: true, luaVersion: '5.3', ranges: true, onCreateNode });
  while (lexer.lex().type !== luaparse.tokenTypes.EOF);
  return comments
    .toReversed()
    .reduce(
      (code, [from, to]) => code.slice(0, from) + lua.slice(from, to).replace(/[^\n]/g, '') + code.slice(to),
      lua,
    );
}

/** The declarations of a kernel: the fields of the table that it makes, and where that table ends. */
export function declarationOf(kernel) {
  const { fields } = parse(kernel).body.find(({ init }) => init?.[0]?.type === 'TableConstructorExpression').init[0];
  const values = fields.map(({ key, value }) => [
    key.name,
    value.type === 'StringLiteral' ? value.raw.slice(1, -1) : value.value,
  ]);
  return { ...Object.fromEntries(values), end: fields.at(-1).range[1] };
}

/** A kernel that can do nothing but decide: every function definition costs time on every call, even unused. */
function onlyDeciding(kernel) {
  const { arity, end } = declarationOf(kernel);
  if (arity > MOST_NUMBERS) throw new Error(`lua/single.lua reads ${MOST_NUMBERS} numbers of a policy, not ${arity}`);
  const others = parse(kernel).body.filter(
    ({ type, identifier }) =>
      type === 'FunctionDeclaration' &&
      identifier.type === 'MemberExpression' &&
      identifier.identifier.name !== 'decide',
  );
  const deciding = withoutNodes(kernel, others);
  return withoutUnused(`${deciding.slice(0, end)}, decide = false${deciding.slice(end)}`); // room for all that there will be
}

/** Lua without the local functions that it does not call. */
function withoutUnused(lua) {
  const uses = new Map();
  const onCreateNode = ({ type, name }) => {
    if (type === 'Identifier') uses.set(name, (uses.get(name) ?? 0) + 1);
  };
  const { body } = luaparse.parse(lua, { luaVersion: '5.1', ranges: true, onCreateNode });
  const unused = body.filter(
    ({ type, isLocal, identifier }) => type === 'FunctionDeclaration' && isLocal && uses.get(identifier.name) === 1,
  );
  return unused.length === 0 ? lua : withoutUnused(withoutNodes(lua, unused));
}

/** The scripts that decide: their parts, in the order in which they stand on each other, the kernels they know, and what they
 * need of those. */
export const SCRIPTS = {
  general: {
    parts: [WHOLE_NUMBER].concat(
      parts([
        ...['clock', 'policy', 'failure', 'call', 'value'],
        ...['external-state', 'versions', 'restored-value', 'decide', 'denied-costs', 'escalation', 'edits', 'general'],
      ]),
    ),
    takes: () => true,
    needs: (kernel) => kernel,
  },
  batch: {
    parts: [...parts(['clock', 'single']), WHOLE_NUMBER, ...parts(['policy', 'failure', 'batch'])],
    // Long states have keys of their own: those are opened by the general script.
    takes: (kernel) => declarationOf(kernel).external !== true,
    needs: onlyDeciding,
  },
};

/** The scripts that no other file is a part of, by their paths in the folder of all packages. */
export function standaloneScripts(packages) {
  return readdirSync(packages, { withFileTypes: true })
    .filter((entry) => existsSync(new URL(`${entry.name}/src/`, packages)))
    .flatMap(({ name }) =>
      readdirSync(new URL(`${name}/src/`, packages), { recursive: true }).map((file) => `${name}/src/${file}`),
    )
    .filter(
      (file) =>
        file.endsWith('.lua') && !/^(old-core\/src\/algorithms|(old-)?core\/src\/stores\/redis\/lua)\//.test(file),
    )
    .sort();
}
