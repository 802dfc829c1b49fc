import * as Plot from '@observablehq/plot';
import { inSpan, largest, longestDenialMs, perSecond, runningSum } from './counts.mjs';
import { beside, heading, picture, unitBelow } from './picture.mjs';
import { WINDOW_MS, written } from './specimens.mjs';

const WINDOW_S = WINDOW_MS / 1000;
/** The units that all policies allow in a window's length, in the long run. */
const RATE = 40;
/** The top of the upper panel. */
const MOST_A_SECOND = 24;
const MARGINS = { marginLeft: 44, marginRight: 150 };

/** The figures of a picture. */
export function figures(specimen, { requests }) {
  const unitsOf = (some) => some.reduce((sum, { units }) => sum + units, 0);
  const allowed = requests.filter(({ allowed }) => allowed);
  const instants = allowed.map(({ atMs, startMs, units }) => [specimen.paced ? startMs : atMs, units]);
  const lower = specimen.running
    ? runningSum(
        allowed.flatMap(({ startMs, endMs, units }) => [
          [startMs, units],
          [endMs, -units],
        ]),
      )
    : inSpan(instants, WINDOW_MS);
  return {
    offered: unitsOf(requests),
    allowed: unitsOf(allowed),
    instants,
    lower,
    most: largest(lower),
    denialMs: longestDenialMs(requests),
  };
}

/**
 * One policy's picture. The upper panel shows the units offered and allowed each second. The lower panel shows the
 * units allowed in the last window, or the requests that run, and the promise.
 */
export function draw(specimen, replayed, { phases, seconds }) {
  const shown = figures(specimen, replayed);
  const { offered, allowed, most } = shown;
  const over = specimen.running ? 'at any instant' : `in any ${WINDOW_S} seconds`;
  return picture({
    width: 800,
    left: 44,
    title: written(specimen),
    description: `Of ${offered} units offered in ${seconds} seconds ${allowed} were allowed. The most ${over} were ${most}; the policy promises no more than ${specimen.promise}.`,
    panels: [eachSecond(specimen, shown, replayed, { phases, seconds }), inTheLastWindow(specimen, shown, seconds)],
  });
}

function eachSecond({ paced }, { offered, allowed, instants }, { requests }, { phases, seconds }) {
  const offeredInstants = requests.map(({ atMs, units }) => [atMs, units]);
  return {
    ...MARGINS,
    height: 146,
    marginTop: 44,
    marginBottom: 2,
    x: { ...timeAxis(seconds), axis: null },
    y: unitAxis([0, MOST_A_SECOND / 2, MOST_A_SECOND]),
    marks: [
      Plot.text(phases, {
        x: ({ from, to }) => (from + to) / 2,
        text: 'name',
        frameAnchor: 'top',
        dy: -34,
        className: 'note',
      }),
      heading(`${paced ? 'Offered and started' : 'Offered and allowed'}, units a second`),
      ...columns('offered', offered, perSecond(offeredInstants, seconds), { line: 0, colour: 'medium' }),
      ...columns('allowed', allowed, perSecond(instants, seconds), { line: 1, colour: 'blue' }),
    ],
  };
}

function inTheLastWindow({ running, paced, promise }, { lower, most }, seconds) {
  const steps = [[0, 0], ...lower.map(([atMs, units]) => [atMs / 1000, units]).filter(([at]) => at <= seconds)];
  return {
    ...MARGINS,
    height: 192,
    marginTop: 36,
    marginBottom: 28,
    x: timeAxis(seconds),
    y: unitAxis(running ? [0, 5, 10, 15, 20] : [0, 20, 40, 60, 80]),
    marks: [
      heading(
        running ? 'Requests that run' : `${paced ? 'Started' : 'Allowed'} in the last ${WINDOW_S} seconds, units`,
      ),
      ...(running || promise === RATE
        ? []
        : bound('limit', `in the long run: ${RATE}`, RATE, { strokeDasharray: '2 3', colour: 'note' })),
      ...bound('promise', `promise: ${promise}`, promise, {
        strokeDasharray: '6 4',
        strokeWidth: 1.5,
        colour: 'orange',
      }),
      Plot.line([...steps, [seconds, steps.at(-1)[1]]], {
        curve: 'step-after',
        strokeWidth: 2,
        className: 'most blue',
      }),
      beside(`most here: ${most}`, { y: promise, dy: -16, className: 'blue' }),
      unitBelow('seconds'),
    ],
  };
}

function timeAxis(seconds) {
  return { domain: [0, seconds], ticks: seconds / WINDOW_S, grid: true, tickSize: 0, label: null };
}

function unitAxis(ticks) {
  return { domain: [0, ticks.at(-1)], ticks, grid: true, tickSize: 0, label: null };
}

/** The units of each second as columns without gaps, and their sum to the right of the panel. */
function columns(name, sum, counts, { line, colour }) {
  if (Math.max(...counts) > MOST_A_SECOND)
    throw new Error(`${name}: ${Math.max(...counts)} in a second, above the panel`);
  const columnOf = (units, second) => ({ units, from: second, to: second + 1 });
  return [
    Plot.rectY(
      counts.map(columnOf).filter(({ units }) => units > 0),
      { x1: 'from', x2: 'to', y: 'units', className: `${name} ${colour}` },
    ),
    Plot.dot([name], {
      frameAnchor: 'top-right',
      symbol: 'square',
      r: 6,
      fill: 'currentColor',
      dx: 15,
      dy: 11 + 18 * line,
      className: colour,
    }),
    beside(`${name}: ${sum}`, { line, dx: 27 }),
  ];
}

function bound(name, label, value, { colour, ...stroke }) {
  return [
    Plot.ruleY([value], { ...stroke, className: `${name} ${colour}` }),
    beside(label, { y: value, className: colour }),
  ];
}
