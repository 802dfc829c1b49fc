import { inSpan, largest, longestRefusalMs, perSecond, runningSum } from './counts.mjs';
import { rounded, sheet } from './sheet.mjs';
import { WINDOW_MS, written } from './specimens.mjs';

const WIDTH = 800;
const LEFT = 44;
const RIGHT = 150;
const UPPER = { top: 66, height: 100, most: 24, step: 12 };
const LOWER = { top: 204, height: 128, most: 80, step: 20 };
const LOWER_RUNNING = { ...LOWER, most: 20, step: 5 };
const BESIDE = WIDTH - RIGHT + 10;
/** What all let through in a window's length, in the long run. */
const RATE = 40;
const HEIGHT = LOWER.top + LOWER.height + 42;

const STYLES = [
  '.line { fill: none; stroke-width: 2; stroke-linejoin: round }',
  '.limit { stroke-width: 1; stroke-dasharray: 2 3 }',
  '.promise { stroke-width: 1.5; stroke-dasharray: 6 4 }',
];
const COLOURS = [
  ['note', 'fill', '#59636e', '#9198a1'],
  ['offered', 'fill', '#b7bdc5', '#5b636d'],
  ['admitted', 'fill', '#0969da', '#4493f8'],
  ['line', 'stroke', '#0969da', '#4493f8'],
  ['limit', 'stroke', '#59636e', '#9198a1'],
  ['promise', 'stroke', '#bc4c00', '#f0883e'],
  ['promised', 'fill', '#bc4c00', '#f0883e'],
];

/** What a picture shows, in numbers. */
export function figures(specimen, { requests }) {
  const unitsOf = (some) => some.reduce((sum, { units }) => sum + units, 0);
  const admitted = requests.filter(({ allowed }) => allowed);
  const instants = admitted.map(({ atMs, startMs, units }) => [specimen.paced ? startMs : atMs, units]);
  const lower = specimen.running
    ? runningSum(
        admitted.flatMap(({ startMs, endMs, units }) => [
          [startMs, units],
          [endMs, -units],
        ]),
      )
    : inSpan(instants, WINDOW_MS);
  return {
    offered: unitsOf(requests),
    admitted: unitsOf(admitted),
    instants,
    lower,
    most: largest(lower),
    refusalMs: longestRefusalMs(requests),
    waitMs: Math.max(...admitted.map(({ atMs, startMs }) => startMs - atMs)),
  };
}

/**
 * One policy's picture: above what was offered and admitted each second, below what had been admitted in the last
 * window, or was running, against the promise.
 */
export function draw(specimen, replayed, { phases, seconds }) {
  const shown = figures(specimen, replayed);
  const { offered, admitted, most, instants, lower } = shown;
  const x = (second) => LEFT + (second / seconds) * (WIDTH - LEFT - RIGHT);
  const axis = { x, seconds };
  const offeredInstants = replayed.requests.map(({ atMs, units }) => [atMs, units]);
  const panel = specimen.running ? LOWER_RUNNING : LOWER;
  const upperY = scale(UPPER);
  const lowerY = scale(panel);
  const over = specimen.running ? 'at any instant' : `in any ${WINDOW_MS / 1000} seconds`;
  const body = [
    ...phases.map(({ name, from, to }) => text('note middle', x((from + to) / 2), UPPER.top - 24, name)),
    text('', LEFT, UPPER.top - 8, `${specimen.paced ? 'Offered and started' : 'Offered and admitted'}, units a second`),
    ...grid(UPPER, axis),
    area('offered', perSecond(offeredInstants, seconds), x, upperY),
    area('admitted', perSecond(instants, seconds), x, upperY),
    key('offered', BESIDE, UPPER.top + 8, `offered: ${offered}`),
    key('admitted', BESIDE, UPPER.top + 28, `admitted: ${admitted}`),
    text(
      '',
      LEFT,
      panel.top - 10,
      specimen.running
        ? 'Requests that run'
        : `${specimen.paced ? 'Started' : 'Admitted'} in the last ${WINDOW_MS / 1000} seconds, units`,
    ),
    ...grid(panel, axis),
    ...(specimen.running || specimen.promise === RATE ? [] : bound('limit', 'note', 'in the long run', RATE, lowerY)),
    ...bound('promise', 'promised', 'promise', specimen.promise, lowerY),
    `<path class="line" d="${steps(lower, seconds, x, lowerY)}"/>`,
    text('admitted', BESIDE, lowerY(specimen.promise) - 12, `most here: ${most}`),
    ...ticks(panel, axis),
  ].join('\n');
  return sheet({
    width: WIDTH,
    height: HEIGHT,
    left: LEFT,
    title: written(specimen),
    description: `Of ${offered} units offered in ${seconds} seconds ${admitted} were admitted. The most ${over} were ${most}; the policy promises no more than ${specimen.promise}.`,
    styles: STYLES,
    colours: COLOURS,
    body,
  });
}

function scale({ top, height, most }) {
  return (value) => top + height - (value / most) * height;
}

function bound(name, ofText, says, value, y) {
  return [
    `<path class="${name}" d="M${LEFT} ${rounded(y(value))}H${WIDTH - RIGHT}"/>`,
    text(ofText, BESIDE, y(value) + 4, `${says}: ${value}`),
  ];
}

function grid(panel, { x, seconds }) {
  const { top, height, most, step } = panel;
  const y = scale(panel);
  const parts = [];
  for (let second = 0; second <= seconds; second += WINDOW_MS / 1000)
    parts.push(`<path class="grid" d="M${rounded(x(second))} ${top}V${top + height}"/>`);
  for (let value = 0; value <= most; value += step) {
    parts.push(`<path class="grid" d="M${LEFT} ${rounded(y(value))}H${WIDTH - RIGHT}"/>`);
    parts.push(text('end', LEFT - 6, y(value) + 4, value));
  }
  return parts;
}

function ticks({ top, height }, { x, seconds }) {
  const parts = [text('', WIDTH - RIGHT + 18, top + height + 18, 'seconds')];
  for (let second = 0; second <= seconds; second += WINDOW_MS / 1000)
    parts.push(text('middle', x(second), top + height + 18, second));
  return parts;
}

/** What came in each second, as columns without gaps. */
function area(name, counts, x, y) {
  const bottom = rounded(y(0));
  if (y(Math.max(...counts)) < UPPER.top)
    throw new Error(`${Math.max(...counts)} ${name} in a second: make the panel higher`);
  const columns = counts.map((count, second) => `V${rounded(y(count))}H${rounded(x(second + 1))}`);
  return `<path class="${name}" d="M${rounded(x(0))} ${bottom}${columns.join('')}V${bottom}Z"/>`;
}

/** From each instant on so many. */
function steps(changes, seconds, x, y) {
  const parts = [`M${rounded(x(0))} ${rounded(y(0))}`];
  for (const [atMs, value] of changes) {
    if (atMs > seconds * 1000) break;
    parts.push(`H${rounded(x(atMs / 1000))}V${rounded(y(value))}`);
  }
  return `${parts.join('')}H${rounded(x(seconds))}`;
}

function key(name, left, top, says) {
  return `<rect class="${name}" x="${left}" y="${top - 9}" width="11" height="11"/>\n${text('', left + 17, top + 1, says)}`;
}

function text(name, left, top, says) {
  return `<text${name === '' ? '' : ` class="${name}"`} x="${rounded(left)}" y="${rounded(top)}">${says}</text>`;
}
