import { niceAbove, rounded, sheet } from '../../../../scripts/plots/sheet.mjs';

const WIDTH = 860;
const LEFT = 64;
const RIGHT = 210;
const PANEL = 120;
const GAP = 48;
const TOP = 48;

const COLOURS = [
  ['line0', 'stroke', '#0969da', '#58a6ff'],
  ['line1', 'stroke', '#8250df', '#d2a8ff'],
  ['line2', 'stroke', '#bc4c00', '#f0883e'],
  ['name0', 'fill', '#0969da', '#58a6ff'],
  ['name1', 'fill', '#8250df', '#d2a8ff'],
  ['name2', 'fill', '#bc4c00', '#f0883e'],
];

/**
 * Panels of lines over the same few places, which stand at equal distances.
 *
 * @param panels - Each `{ title, lines: [{ name, points: [number | undefined] }] }`, a point for each place.
 */
export function curves({ title, description, places, axis, panels }) {
  const x = (i) => LEFT + (places.length === 1 ? 0 : i / (places.length - 1)) * (WIDTH - LEFT - RIGHT);
  const body = panels.map((panel, i) => drawn(panel, TOP + i * (PANEL + GAP), { x, places, axis }));
  const styles = ['polyline { fill: none; stroke-width: 2; stroke-linejoin: round }'];
  const height = TOP + panels.length * (PANEL + GAP) - 12;
  return sheet({
    width: WIDTH,
    height,
    left: LEFT,
    title,
    description,
    styles,
    colours: COLOURS,
    body: body.join('\n'),
  });
}

function drawn({ title, lines }, top, { x, places, axis }) {
  const most = niceAbove(Math.max(...lines.flatMap(({ points }) => points.map((point) => point ?? 0))) || 1);
  const y = (value) => top + PANEL - (value / most) * PANEL;
  const parts = [`<text x="${LEFT}" y="${top - 8}">${title}</text>`];
  for (const share of [0, 0.5, 1]) {
    const at = rounded(y(most * share));
    parts.push(`<path class="grid" d="M${LEFT} ${at}H${WIDTH - RIGHT}"/>`);
    parts.push(`<text class="end" x="${LEFT - 6}" y="${rounded(y(most * share) + 4)}">${most * share}</text>`);
  }
  for (const [i, place] of places.entries()) {
    parts.push(`<text class="middle" x="${rounded(x(i))}" y="${top + PANEL + 16}">${place}</text>`);
  }
  parts.push(`<text x="${WIDTH - RIGHT + 44}" y="${top + PANEL + 16}">${axis}</text>`);
  for (const [i, { name, points }] of lines.entries()) {
    const there = points.flatMap((point, place) => (point === undefined ? [] : [[x(place), y(point)]]));
    parts.push(
      `<polyline class="line${i}" points="${there.map(([left, at]) => `${rounded(left)},${rounded(at)}`).join(' ')}"/>`,
      `<text class="name${i}" x="${WIDTH - RIGHT + 28}" y="${top + 14 + 16 * i}">${name}</text>`,
    );
  }
  return parts.join('\n');
}
