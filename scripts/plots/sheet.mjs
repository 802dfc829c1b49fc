/**
 * A whole SVG document that reads well on light and on dark ground, with its title drawn at the top.
 *
 * @param description - What a reader who does not see it should know.
 * @param styles - Lines of CSS: what is the same on both grounds.
 * @param colours - `[class, property, on light ground, on dark ground]`.
 */
export function sheet({ width, height, left, title, description = title, styles, colours, body }) {
  const rules = (ground, indent) =>
    colours.map(([name, property, ...grounds]) => `${indent}.${name} { ${property}: ${grounds[ground]} }`).join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc">
<title id="title">${escaped(title)}</title>
<desc id="desc">${escaped(description)}</desc>
<style>
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .ground { fill: #fff }
  .title { font-weight: 600 }
  .end { text-anchor: end }
  .middle { text-anchor: middle }
  .grid { stroke: #d0d7de; fill: none }
${styles.map((line) => `  ${line}`).join('\n')}
${rules(0, '  ')}
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .ground { fill: #0d1117 }
    .grid { stroke: #30363d }
${rules(1, '    ')}
  }
</style>
<rect class="ground" width="${width}" height="${height}"/>
<text class="title" x="${left}" y="20">${escaped(title)}</text>
${body}
</svg>
`;
}

/** The least of 1, 2, 4, 6, 8 and 10 times a power of ten that is no smaller. */
export function niceAbove(value) {
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((times) => times * step).find((nice) => nice >= value);
}

/** A coordinate, to a tenth. */
export function rounded(value) {
  return String(Math.round(value * 10) / 10);
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
