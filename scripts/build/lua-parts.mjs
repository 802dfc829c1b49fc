import { existsSync, readdirSync } from 'node:fs';
import luaparse from 'luaparse';

export const PACKAGES = new URL('../../packages/', import.meta.url);
/** What the program is printed as, and what is printed into it. */
const OF_PROGRAM = /^core\/src\/stores\/redis\/lua\//;

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

/** The scripts that are written by hand, by their paths in the folder of all packages. */
export function handwrittenScripts() {
  return readdirSync(PACKAGES, { withFileTypes: true })
    .filter((entry) => existsSync(new URL(`${entry.name}/src/`, PACKAGES)))
    .flatMap(({ name }) =>
      readdirSync(new URL(`${name}/src/`, PACKAGES), { recursive: true }).map((file) => `${name}/src/${file}`),
    )
    .filter((file) => file.endsWith('.lua') && !OF_PROGRAM.test(file))
    .sort();
}
