const WIDTH = 860;
const LEFT = 64;
const RIGHT = 150;
const PANEL = 130;
const GAP = 40;
const TOP = 44;

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
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}">
<style>
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .ground { fill: #fff }
  .title { font-weight: 600 }
  .end { text-anchor: end }
  .middle { text-anchor: middle }
  .grid { stroke: #d0d7de; fill: none }
  .band { fill: #ffe9d1 }
  polyline { fill: none; stroke-width: 1.5 }
  .line0 { stroke: #0969da }
  .line1 { stroke: #8250df }
  .name0 { fill: #0969da }
  .name1 { fill: #8250df }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .ground { fill: #0d1117 }
    .grid { stroke: #30363d }
    .band { fill: #3d2a14 }
    .line0 { stroke: #58a6ff }
    .line1 { stroke: #d2a8ff }
    .name0 { fill: #58a6ff }
    .name1 { fill: #d2a8ff }
  }
</style>
<rect class="ground" width="${WIDTH}" height="${height}"/>
<text class="title" x="${LEFT}" y="20">${title}</text>
${drawn.join('\n')}
</svg>
`;
}

function drawPanel({ title, unit, lines }, top, { x, seconds, bands }) {
  const values = lines.flatMap(({ points }) => points.map((point) => point.y ?? 0));
  const most = niceAbove(Math.max(...values, 1));
  const y = (value) => top + PANEL - (value / most) * PANEL;
  const parts = [];
  for (const { from, to } of bands) {
    parts.push(`<rect class="band" x="${n(x(from))}" y="${top}" width="${n(x(to) - x(from))}" height="${PANEL}"/>`);
  }
  for (const share of [0, 0.5, 1]) {
    const at = n(y(most * share));
    parts.push(`<path class="grid" d="M${LEFT} ${at}H${WIDTH - RIGHT}"/>`);
    parts.push(`<text class="end" x="${LEFT - 6}" y="${n(y(most * share) + 4)}">${most * share}</text>`);
  }
  for (let minute = 0; minute <= seconds / 60; minute++) {
    parts.push(`<text class="middle" x="${n(x(minute * 60))}" y="${top + PANEL + 15}">${minute}</text>`);
  }
  parts.push(`<text x="${WIDTH - RIGHT + 18}" y="${top + PANEL + 15}">minutes</text>`);
  parts.push(`<text x="${LEFT}" y="${top - 6}">${title}${unit === '' ? '' : `, ${unit}`}</text>`);
  lines.forEach(({ name, points }, i) => {
    for (const run of unbroken(points)) {
      const path = run.map((point) => `${n(x(point.x))},${n(y(point.y))}`).join(' ');
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

function niceAbove(value) {
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((times) => times * step).find((nice) => nice >= value);
}

function n(value) {
  return String(Math.round(value * 10) / 10);
}
