import { niceAbove, rounded, sheet } from '../../../../scripts/plots/sheet.mjs';

const WIDTH = 860;
const NAMES = 270;
const RIGHT = 190;
const BAR = 17;
const PANEL_HEAD = 34;
const TOP = 34;

const COLOURS = [
  ['ours', 'fill', '#0969da', '#4493f8'],
  ['peer', 'fill', '#8c959f', '#6e7681'],
  ['floor', 'fill', '#d0d7de', '#3d444d'],
  ['spread', 'stroke', '#1f2328', '#e6edf3'],
  ['mark', 'stroke', '#bc4c00', '#f0883e'],
  ['note', 'fill', '#59636e', '#9198a1'],
];

/**
 * Panels of horizontal bars.
 *
 * @param panels - Each `{ title, bars: [{ name, kind, value, low, high, says }], mark }`: half of the rounds lie from
 * `low` to `high`; `mark` is where a line is drawn.
 */
export function bars({ title, description, panels }) {
  let top = TOP;
  const body = [];
  for (const panel of panels) {
    body.push(drawn(panel, top));
    top += PANEL_HEAD + panel.bars.length * BAR + 10;
  }
  const styles = ['.spread { stroke-width: 1 }', '.mark { stroke-width: 1.5; stroke-dasharray: 4 3 }'];
  return sheet({
    width: WIDTH,
    height: top,
    left: 16,
    title,
    description,
    styles,
    colours: COLOURS,
    body: body.join('\n'),
  });
}

function drawn({ title, bars: all, mark }, top) {
  const most = niceAbove(Math.max(...all.map(({ value }) => value), mark ?? 0));
  const x = (value) => NAMES + (value / most) * (WIDTH - NAMES - RIGHT);
  const first = top + PANEL_HEAD;
  const parts = [`<text class="note" x="16" y="${top + 20}">${title}</text>`];
  for (const [i, { name, kind, value, low, high, says }] of all.entries()) {
    const y = first + i * BAR;
    parts.push(
      `<text class="end" x="${NAMES - 8}" y="${y + 12}">${name}</text>`,
      `<rect class="${kind}" x="${NAMES}" y="${y + 2}" width="${rounded(Math.max(x(value) - NAMES, 0.5))}" height="${BAR - 5}"/>`,
      `<path class="spread" d="M${rounded(x(low))} ${y + 8}H${rounded(x(Math.min(high, most)))}"/>`,
      `<text x="${rounded(x(Math.min(Math.max(value, high), most)) + 8)}" y="${y + 12}">${says}</text>`,
    );
  }
  if (mark !== undefined) {
    parts.push(`<path class="mark" d="M${rounded(x(mark))} ${first - 2}V${first + all.length * BAR}"/>`);
  }
  return parts.join('\n');
}
