/** A time as Consul writes it, such as `30s`, in milliseconds. */
export function msOf(text = '5m'): number {
  const [, number = '0', unit] = /^([\d.]+)(ms|s|m)$/.exec(text) ?? [];
  return Number(number) * (unit === 'ms' ? 1 : unit === 's' ? 1000 : 60_000);
}
