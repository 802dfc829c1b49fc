/** A figure of a table, with its significant digits. */
export function figure(spread) {
  if (spread === undefined) return '';
  const { median } = spread;
  if (Math.abs(median) >= 1000) return spaced(Math.round(median));
  if (Math.abs(median) >= 100) return String(Math.round(median));
  return String(Number(median.toPrecision(3)));
}

/** A rate in thousands or millions. */
export function rate(spread) {
  if (spread === undefined) return '';
  const { median } = spread;
  return median >= 1e6 ? `${Number((median / 1e6).toPrecision(3))} M` : `${Number((median / 1e3).toPrecision(3))} k`;
}

/** A whole number with separated thousands. */
export function spaced(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ' ');
}
