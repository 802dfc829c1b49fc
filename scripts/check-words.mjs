// Finds words that must not come back: in code (names, comments and strings, tests and Lua too), documentation and messages.
// One fact has one word, the standard one, and a component is not a person.
//
//   node scripts/check-words.mjs [FOLDER or FILE...]
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

/** Names that were private words, found where they are declared or called, but not in history (CHANGELOG, decision records). */
const NAMES = new Map([
  ['PlacedLimiter', 'LimiterImpl'],
  ['Deciding', 'DecisionPipeline'],
  ['\\w*Grounds', '...Deps'],
  ['Facts', 'Context'],
  ['FastLane|BatchedLane', 'FastPath, BatchedPath'],
  ['Asker|Asking|Asked\\w*', 'LimitResolver, LimitRequest, Resolution, UnresolvedLimit'],
  ['Sightings?|notices|besideRequests|onRequests', 'RequestMark, markOnce, weakMapMarks, privateFieldMarks'],
  ['Raises|raises', 'Invalidations, invalidations'],
  ['Standing', 'MembershipStatus'],
  ['liesApart|askAcross', 'spansNodes, consumeAcrossNodes'],
  ['tentative', 'provisional'],
  ['standIns?|withStandIn|withoutStore|LocalStore', 'fallback, withFallback, decideWithoutStore, FallbackStore'],
  ['(Earlier)?Editions?|bringOver', 'PolicyVersion, EarlierVersion, migrateStates'],
  ['LostCalls', 'AbandonedCalls'],
  ['quietly|eventually', 'ignoreReportErrors, mapMaybe'],
  ['departure|onDeparture|hasLeft', 'disconnect, onClose, isGone'],
  ['doctor|Doctor', 'diagnostics'],
  ['KeyRuns|RunStore', 'CoalescedRequests, BatchStore'],
  ['takeOne|takeFirst|takeFromKey', 'consumeOne, consumeFirst, consumeState'],
  ['TurnQueue|HeldRequests', 'RefundQueue, PacedRequests'],
  ['LimitMaker|Definitions?', 'LimitFactory, PolicyDefinition, PolicyCache'],
  ['Given|Question|Seen|Places?', 'a type name that says what it is'],
]);

/** What other programs say. */
const QUOTES = /connection refused|(?<=\|)refused(?=\|)/giu;
const HISTORY = /^(CHANGELOG\.md|docs\/adr\/)/u;
const CHECKED = /\.(ts|mjs|lua|md)$/u;
/** Not written here: reports, the list of words itself, and the Contributor Covenant. */
const UNCHECKED = /^(etc\/|scripts\/check-words\.mjs$|\.github\/CODE_OF_CONDUCT\.md$)/u;

const DECLARED = 'class|interface|type|enum|function|const|let|readonly|import|get';
const rules = [...WORDS].map(([word, instead]) => rule(`\\b(?:${word})\\b`, instead, 'giu'));
const nameRules = [...NAMES].map(([name, instead]) =>
  rule(`(?<=\\b(?:${DECLARED}) #?)(?:${name})\\b|(?<!\\w)(?:${name})(?=[(<])`, instead, 'gu'),
);

const root = fileURLToPath(new URL('..', import.meta.url));
const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...process.argv.slice(2)], { cwd: root });
const files = listed
  .toString()
  .split('\n')
  .filter((file) => CHECKED.test(file) && !UNCHECKED.test(file));
const found = files.filter((file) => existsSync(new URL(`../${file}`, import.meta.url))).flatMap(wordsIn);
if (found.length > 0) console.error(found.join('\n'));
process.exitCode = found.length === 0 ? 0 : 1;

function rule(source, instead, flags) {
  return { pattern: new RegExp(source, flags), instead };
}

function wordsIn(file) {
  const names = HISTORY.test(file) ? [] : nameRules;
  const lines = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').split('\n');
  return lines.flatMap((line, i) =>
    [...matches(asWords(line), rules), ...matches(line, names)].map((match) => `${file}:${String(i + 1)}: ${match}`),
  );
}

function matches(line, among) {
  return among.flatMap(({ pattern, instead }) =>
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
