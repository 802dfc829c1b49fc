import { niceAbove, rounded, sheet } from '../plots/sheet.mjs';

const WIDTH = 860;
const LEFT = 64;
const RIGHT = 150;
const PANEL = 130;
const GAP = 40;
const TOP = 44;

const COLOURS = [
  ['band', 'fill', '#ffe9d1', '#3d2a14'],
  ['line0', 'stroke', '#0969da', '#58a6ff'],
  ['line1', 'stroke', '#8250df', '#d2a8ff'],
  ['name0', 'fill', '#0969da', '#58a6ff'],
  ['name1', 'fill', '#8250df', '#d2a8ff'],
];

/**
 * Panels over one time axis, as SVG that reads well on light and on dark ground.
 *
 * @param panels - Each `{ title, unit, lines: [{ name, points: [{ x, y }] }] }`; a `y` that is undefined leaves a gap.
 * @param bands - Spans of time to be shaded: `{ from, to }`.
 */
export function plot({ title, seconds, panels, bands }) {
  const height = TOP + panels.length * (PANEL + GAP) + 8;
  const x = (at) => LEFT + (at / seconds) * (WIDTH - LEFT - RIGHT);
  const drawn = panels.map((panel, i) => drawPanel(panel, TOP + i * (PANEL + GAP), { x, seconds, bands }));
  const styles = ['polyline { fill: none; stroke-width: 1.5 }'];
  return sheet({ width: WIDTH, height, left: LEFT, title, styles, colours: COLOURS, body: drawn.join('\n') });
}

function drawPanel({ title, unit, lines }, top, { x, seconds, bands }) {
  const values = lines.flatMap(({ points }) => points.map((point) => point.y ?? 0));
  const most = niceAbove(Math.max(...values, 1));
  const y = (value) => top + PANEL - (value / most) * PANEL;
  const parts = [];
  for (const { from, to } of bands) {
    parts.push(
      `<rect class="band" x="${rounded(x(from))}" y="${top}" width="${rounded(x(to) - x(from))}" height="${PANEL}"/>`,
    );
  }
  for (const share of [0, 0.5, 1]) {
    const at = rounded(y(most * share));
    parts.push(`<path class="grid" d="M${LEFT} ${at}H${WIDTH - RIGHT}"/>`);
    parts.push(`<text class="end" x="${LEFT - 6}" y="${rounded(y(most * share) + 4)}">${most * share}</text>`);
  }
  for (let minute = 0; minute <= seconds / 60; minute++) {
    parts.push(`<text class="middle" x="${rounded(x(minute * 60))}" y="${top + PANEL + 15}">${minute}</text>`);
  }
  parts.push(`<text x="${WIDTH - RIGHT + 18}" y="${top + PANEL + 15}">minutes</text>`);
  parts.push(`<text x="${LEFT}" y="${top - 6}">${title}${unit === '' ? '' : `, ${unit}`}</text>`);
  lines.forEach(({ name, points }, i) => {
    for (const run of unbroken(points)) {
      const path = run.map((point) => `${rounded(x(point.x))},${rounded(y(point.y))}`).join(' ');
      parts.push(`<polyline class="line${i}" points="${path}"/>`);
    }
    parts.push(`<text class="name${i}" x="${WIDTH - RIGHT + 8}" y="${top + 14 + 16 * i}">${name}</text>`);
  });
  return parts.join('\n');
}

function unbroken(points) {
  const runs = [[]];
  for (const point of points) {
    if (point.y === undefined) runs.push([]);
    else runs.at(-1).push(point);
  }
  return runs.filter((run) => run.length > 0);
}
