import * as Plot from '@observablehq/plot';
import { heading, picture } from './picture.mjs';

const BAR = 17;
const COLOURS = { ours: 'blue', peer: 'dark', floor: 'light' };

/**
 * Panels of horizontal bars.
 *
 * @param panels - Each `{ title, bars: [{ name, kind, value, low, high, label }], mark }`. Half of the rounds are
 * between `low` and `high`. A line is drawn at `mark`.
 */
export function bars({ panels, ...about }) {
  return picture({ width: 860, left: 16, ...about, panels: panels.map(panelOf) });
}

const farthest = ({ value, high }) => Math.max(value, high);

function panelOf({ title, bars: all, mark }) {
  const bar = { y: 'name', insetTop: 2, insetBottom: 3 };
  return {
    height: all.length * BAR + 44,
    marginTop: 34,
    marginBottom: 10,
    marginLeft: 270,
    marginRight: 190,
    x: { axis: null, domain: [0, Math.max(...all.map(farthest), mark ?? 0)], nice: true },
    y: { domain: all.map(({ name }) => name), padding: 0, round: false, tickSize: 0, label: null },
    marks: [
      heading(title, { className: 'note', dx: -254, dy: -10 }),
      ...Object.entries(COLOURS).map(([kind, className]) =>
        Plot.barX(
          all.filter((one) => one.kind === kind),
          { ...bar, x: 'value', className },
        ),
      ),
      Plot.ruleY(all, { x1: 'low', x2: 'high', y: 'name', strokeOpacity: 0.6 }),
      ...(mark === undefined ? [] : [Plot.ruleX([mark], { className: 'orange', strokeDasharray: '4 3' })]),
      Plot.text(all, { x: farthest, y: 'name', text: 'label', textAnchor: 'start', dx: 8, className: 'halo' }),
    ],
  };
}
