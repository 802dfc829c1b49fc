// Finds words that must not come back: in code (names, comments and strings, tests and Lua too), documentation and
// messages. One fact has one word, the standard one, and a component is not a person.
//
//   node scripts/check/words.mjs [FOLDER or FILE...]
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Words of the language: found in sentences, and as a part of a name (`refuseMissing`, `is_refused`). */
const WORDS = new Map([
  ['nobody', 'say what does not happen, or which component does not'],
  ['somebody|someone', 'the component, or "a client"'],
  ['everybody|everyone', 'all clients, each instance'],
  ['whoever', 'clients that, code that'],
  ['anew', 'again'],
  ['heed(s|ed|ing)?', 'take into account, follow'],
  ['shall', 'must, or the present tense'],
  ['refus(e|es|ed|ing|als?)', 'deny, denied, denial; reject for input and errors'],
  ['admit(s|ted|ting)?', 'allow, allowed'],
  ['stands above', 'takes precedence over'],
  ['is over', 'ends, expires; exceeds'],
]);

/** Words of other programs. */
const QUOTES = /connection refused|(?<=\|)refused(?=\|)|acquireRefuseStrategy/giu;
const CHECKED = /\.(ts|mjs|lua|md)$/u;
/** Not written here: reports, the list of words itself, and the Contributor Covenant. */
const UNCHECKED = /^(etc\/|scripts\/check\/words\.mjs$|\.github\/CODE_OF_CONDUCT\.md$)/u;

const rules = [...WORDS].map(([word, instead]) => ({
  pattern: new RegExp(`\\b(?:${word})\\b`, 'giu'),
  instead,
}));

const root = fileURLToPath(new URL('../..', import.meta.url));
const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...process.argv.slice(2)], { cwd: root });
const files = listed
  .toString()
  .split('\n')
  .filter((file) => CHECKED.test(file) && !UNCHECKED.test(file));
const found = files.filter((file) => existsSync(new URL(`../../${file}`, import.meta.url))).flatMap(wordsIn);
if (found.length > 0) console.error(found.join('\n'));
process.exitCode = found.length === 0 ? 0 : 1;

function wordsIn(file) {
  const lines = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split('\n');
  return lines.flatMap((line, i) => matches(asWords(line)).map((match) => `${file}:${String(i + 1)}: ${match}`));
}

function matches(line) {
  return rules.flatMap(({ pattern, instead }) =>
    [...line.matchAll(pattern)].map(([word]) => `${word} -> say instead: ${instead}`),
  );
}

/** `refuseMissing` and `is_refused` as words. */
function asWords(line) {
  return line
    .replaceAll(QUOTES, '')
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])|_/gu, ' ')
    .replaceAll(/\s+/gu, ' ');
}
