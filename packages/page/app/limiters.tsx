import type { ShownCounts, ShownLimiter } from '../src/snapshot.ts';
import { number } from './words.ts';

export function Limiters({ limiters }: { readonly limiters: readonly ShownLimiter[] }) {
  return (
    <section aria-label="Limiters">
      <h2>Limiters</h2>
      <p class="note">Decisions of the last hour.</p>
      {limiters.length === 0 && <p>There are none in this process.</p>}
      {limiters.map((limiter) => (
        <article key={limiter.name}>
          <h3>{limiter.name}</h3>
          <dl>
            <div>
              <dt>Store</dt>
              <dd>{limiter.store}</dd>
            </div>
            {limiter.store !== 'memory' && (
              <div>
                <dt>Breaker</dt>
                <dd class={limiter.breaker === 'closed' ? '' : 'bad'}>{limiter.breaker}</dd>
              </div>
            )}
            <div>
              <dt>Time of a decision</dt>
              <dd>{timeOf(limiter)}</dd>
            </div>
            <div>
              <dt>Decided by</dt>
              <dd>{sourcesOf(limiter)}</dd>
            </div>
            <div>
              <dt>Keys in memory</dt>
              <dd>{number(limiter.keysInMemory)}</dd>
            </div>
          </dl>
          <table>
            <thead>
              <tr>
                <th scope="col">Policy</th>
                <th scope="col">Allowed</th>
                <th scope="col">Near the limit</th>
                <th scope="col">Denied</th>
                <th scope="col">Denied by minute</th>
              </tr>
            </thead>
            <tbody>
              {limiter.policies.map((policy) => (
                <Policy key={policy.name} policy={policy} />
              ))}
            </tbody>
          </table>
        </article>
      ))}
    </section>
  );
}

function Policy({ policy }: { readonly policy: ShownCounts }) {
  const { name, text, isManaged, allowed, near, denied, deniedByMinute } = policy;
  return (
    <tr>
      <td data-label="Policy">
        <strong>{name}</strong>
        {isManaged && ' (managed)'}
        <div class="note">{text}</div>
      </td>
      <td data-label="Allowed">{number(allowed)}</td>
      <td data-label="Near the limit">{number(near)}</td>
      <td data-label="Denied">{number(denied)}</td>
      <td data-label="Denied by minute">
        <Bars values={deniedByMinute} />
      </td>
    </tr>
  );
}

/** A bar for each minute of the last hour. */
function Bars({ values }: { readonly values: readonly number[] }) {
  const most = Math.max(...values, 0);
  const label = most === 0 ? 'none in the last hour' : `at most ${number(most)} in a minute of the last hour`;
  return (
    <svg class="bars" viewBox="0 0 120 24" role="img" aria-label={label}>
      <line x1="0" x2="120" y1="23.5" y2="23.5" />
      {values.map((value, i) => {
        const height = most === 0 ? 0 : Math.ceil((value / most) * 22);
        return value === 0 ? null : <rect key={i} x={i * 2} y={23 - height} width="1.5" height={height} />;
      })}
    </svg>
  );
}

function timeOf({ medianMs, p99Ms }: ShownLimiter): string {
  return medianMs === null
    ? 'none yet'
    : `half within ${medianMs} ms, 99 % ${p99Ms === null ? 'longer' : `within ${p99Ms} ms`}`;
}

const SOURCES: Record<string, string> = { cache: 'denial cache', local: 'fallback in this process', none: 'no store' };

function sourcesOf({ sources }: ShownLimiter): string {
  const total = Object.values(sources).reduce((sum, count) => sum + count, 0);
  if (total === 0) return 'none yet';
  return Object.entries(sources)
    .toSorted(([, a], [, b]) => b - a)
    .map(([source, count]) => `${SOURCES[source] ?? source} ${((count / total) * 100).toFixed(0)} %`)
    .join(', ');
}
