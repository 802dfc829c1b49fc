import * as Plot from '@observablehq/plot';
import { beside, heading, picture, unitBelow } from './picture.mjs';

const COLOURS = ['blue', 'purple', 'orange'];

/**
 * Panels of lines over the same axis.
 *
 * @param x - The scale of the axis; its label is the unit.
 * @param panels - Each `{ title, lines: [{ name, points: [[x, y]] }] }`; a `y` that is undefined leaves a gap.
 * @param bands - Spans of the axis to be shaded: `{ from, to }`.
 */
export function lines({ x: { label, ...x }, panels, bands = [], ...about }) {
  const panelOf = ({ title, lines: all }) => ({
    height: 176,
    marginTop: 32,
    marginBottom: 24,
    marginLeft: 64,
    marginRight: 180,
    x: { ...x, tickSize: 0, label: null },
    y: { zero: true, nice: 2, ticks: 2, grid: true, tickSize: 0, tickFormat: String, label: null },
    marks: [
      heading(title),
      Plot.rectX(bands, { x1: 'from', x2: 'to', className: 'shade' }),
      ...all.flatMap(({ name, points }, i) => [
        Plot.line(points, { className: COLOURS[i] }),
        beside(name, { line: i, className: COLOURS[i] }),
      ]),
      unitBelow(label, 44),
    ],
  });
  return picture({ width: 860, left: 64, ...about, panels: panels.map(panelOf) });
}
