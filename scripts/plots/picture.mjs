import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';

const { document } = parseHTML('<html></html>');

/** The values of a mark's `className`: the colour on a light ground and on a dark one. */
const COLOURS = {
  blue: ['#0969da', '#4493f8'],
  orange: ['#bc4c00', '#f0883e'],
  note: ['#59636e', '#9198a1'],
  medium: ['#b7bdc5', '#5b636d'],
};

/**
 * Panels below each other, as one SVG document that is readable on a light and on a dark ground.
 *
 * @param left - Where the title begins.
 * @param description - What a reader who does not see the picture should know.
 * @param panels - The options of one plot each, with its height.
 */
export function picture({ width, left, title, description, panels }) {
  let height = 32;
  const drawn = panels.map((panel) => {
    const svg = Plot.plot({ document, width, ...panel });
    svg.querySelector('style').remove();
    svg.setAttribute('y', height);
    height += panel.height;
    return svg.outerHTML;
  });
  const colours = (ground) =>
    Object.entries(COLOURS).map(([name, grounds]) => `.${name} { color: ${grounds[ground]} }`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc">
<title id="title">${escaped(title)}</title>
<desc id="desc">${escaped(description)}</desc>
<style>
rect { shape-rendering: crispEdges }
svg { color: #1f2328; font: 12px system-ui, sans-serif; overflow: visible }
.ground { fill: #fff }
.title { font-weight: 600; fill: currentColor }
${colours(0).join('\n')}
@media (prefers-color-scheme: dark) {
svg { color: #e6edf3 }
.ground { fill: #0d1117 }
${colours(1).join('\n')}
}
</style>
<rect class="ground" width="${width}" height="${height}"/>
<text class="title" x="${left}" y="20">${escaped(title)}</text>
${drawn
  .join('\n')
  .replaceAll(/<[^>]+>/g, inTenths)
  .replaceAll('><', '>\n<')}
</svg>
`;
}

/** A panel's title, above its frame. */
export function heading(text) {
  return Plot.text([text], { frameAnchor: 'top-left', textAnchor: 'start', lineAnchor: 'bottom', dy: -8 });
}

/** The unit of the numbers below a panel, to the right of the last one. */
export function unitBelow(text) {
  return Plot.text([text], { frameAnchor: 'bottom-right', textAnchor: 'start', lineAnchor: 'top', dx: 18, dy: 9 });
}

/** Text to the right of a panel, in this line from the top, or beside a value `y`. */
export function beside(text, { line, y, ...options }) {
  const place = y === undefined ? { frameAnchor: 'top-right', dy: 6 + 18 * line } : { frameAnchor: 'right', y: [y] };
  return Plot.text([text], { textAnchor: 'start', dx: 10, ...place, ...options });
}

function inTenths(tag) {
  return tag.replaceAll(/\d+\.\d{2,}/g, (number) => String(Math.round(Number(number) * 10) / 10));
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
