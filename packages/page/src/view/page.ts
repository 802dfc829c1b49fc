import type { ShownCounts, ShownKey, ShownLimiter, Snapshot } from '../snapshot.ts';
import { PROGRAM, STYLE } from './app.generated.ts';
import { markup, Markup } from './markup.ts';
import { countWords, number, time } from './words.ts';

const MAX_LISTED = 5;

/** The whole page. */
export function viewPage(snapshot: Snapshot): Markup {
  return markup`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
  <title>Limits</title><style>${new Markup(STYLE)}</style>
</head>
<body><main>
  <h1>Limits</h1>
  <section aria-label="One key">
    <form class="look-up" data-action="key">
      <label>Key, such as an address or a user
        <input name="key" required maxlength="4096" spellcheck="false" autocomplete="off"></label>
      <button class="primary">Look up</button>
      <p role="alert"></p>
    </form>
    <div id="found" aria-live="polite"></div>
  </section>
  <p id="away" role="status"></p>
  <div id="live">${viewSnapshot(snapshot)}</div>
</main><script>${new Markup(PROGRAM)}</script></body></html>`;
}

/** What follows the counts. */
export function viewSnapshot(snapshot: Snapshot): Markup {
  const { atMs, process, limiters, changes, lost } = snapshot;
  const away = limiters.filter(({ breaker }) => breaker !== 'closed').map(({ name, store }) => `${name} (${store})`);
  const health = `No answer from the store of ${away.join(', ')}: this process decides without it.`;
  return markup`
    ${away.length === 0 ? undefined : markup`<p class="health">${health}</p>`}
    ${lost.map(viewLost)}
    <small>As of ${time(atMs)}. Process ${String(process.pid)} on ${process.host}, counted since ${time(process.sinceMs)}.
      Blocks hold for all that share a store.</small>
    ${viewDenied(snapshot)}
    <section aria-label="Limiters"><h2>Limiters</h2><small>Decisions of this process in the last hour.</small>
      ${limiters.length === 0 ? markup`<p>There are none in this process.</p>` : limiters.map(viewLimiter)}
    </section>
    <section aria-label="What happened last"><h2>What happened last</h2>
      ${changes.length === 0 ? markup`<p>Nothing yet.</p>` : undefined}
      ${changes.map(
        ({ atMs: at, by, action, target, detail, reason }) =>
          markup`<p>${time(at)} <strong>${by}</strong>: ${action} <bdi>${target}</bdi> ${detail} (${reason})</p>`,
      )}
    </section>`;
}

function viewLost({ name, processes }: Snapshot['lost'][number]): Markup {
  const holders = processes.slice(0, MAX_LISTED).map(({ pid, host }) => `${String(pid)} on ${host}`);
  const more = processes.length - holders.length;
  return markup`<p class="health">The source of managed policies has lost ${name}. Still in process
    ${holders.join(', ')}${more > 0 ? ` and ${number(more)} more` : ''}, and in none that starts now.</p>`;
}

function viewDenied({ limiters, denied, process: { pid, host } }: Snapshot): Markup {
  const { keys, others, sinceMs, awaySinceMs } = denied;
  const max = String(Math.max(1, ...keys.map(({ count }) => count)));
  const named = (others ?? [])
    .slice(0, MAX_LISTED)
    .map((one) => `, ${String(one.pid)} on ${one.host} (${ageWords(one.ageMs)})`);
  const unnamed = (others ?? []).length - named.length;
  const whose = `By ${String(pid)} on ${host}${named.join('')}${unnamed > 0 ? ` and ${number(unnamed)} more` : ''}`;
  const away =
    awaySinceMs === null ? undefined : markup` Redis has not taken or given counts since ${time(awaySinceMs)}.`;
  return markup`<section aria-label="Denied most"><h2>Denied most</h2>
    <small>${whose}, since ${time(sinceMs)}. ${others === null ? 'Each process counts for itself.' : ''}
      <span role="alert">${away}</span></small>
    ${keys.length === 0 ? markup`<p>None.</p>` : undefined}
    ${keys.map((key) => viewDeniedKey(key, limiters, max))}
  </section>`;
}

function viewDeniedKey(shown: ShownKey, limiters: readonly ShownLimiter[], max: string): Markup {
  const { id, key, limiter, policy, count } = shown;
  const numbers = limiters.find(({ name }) => name === limiter)?.policies.find(({ name }) => name === policy)?.text;
  const [field, value] = id === null ? ['key', key] : ['id', id];
  return markup`<form class="denied" data-action="key">
    <button class="key" name="${field}" value="${value}"><bdi>${key}</bdi></button>
    <span>${limiter === policy ? limiter : `${limiter} · ${policy}`} <small>${numbers ?? ''}</small></span>
    <span>${countWords(shown)} denials <meter aria-hidden="true" max="${max}" value="${String(count)}"></meter></span>
  </form>`;
}

function ageWords(ms: number): string {
  return ms < 1_500 ? 'now' : `${String(Math.round(ms / 1_000))} s ago`;
}

function viewLimiter({ name, store, breaker, keysInMemory, policies }: ShownLimiter): Markup {
  const about = `store ${store}${store === 'memory' ? '' : `, breaker ${breaker}`}, keys in memory: ${number(keysInMemory)}`;
  return markup`<article><h3>${name} <small>${about}</small></h3>${policies.map(viewPolicy)}</article>`;
}

function viewPolicy({ name, text, allowed, denied, deniedByMinute }: ShownCounts): Markup {
  return markup`<div class="policy">
    <span>${name} <small>${text ?? ''}</small></span>
    <span>${number(allowed)} allowed</span><span>${number(denied)} denied</span>
    ${viewBars(deniedByMinute)}
  </div>`;
}

/** A bar for the denials of each minute of the last hour. */
function viewBars(values: readonly number[]): Markup {
  const max = Math.max(...values);
  const label =
    max === 0 ? 'no denials in the last hour' : `at most ${number(max)} denials in a minute of the last hour`;
  const path = values.map(
    (value, i) => `M${String(2 * i + 1)} 24v-${String(value === 0 ? 0 : 1 + (value / max) * 22)}`,
  );
  return markup`<svg role="img" aria-label="${label}" viewBox="0 0 120 24"><path d="M0 24h120${path.join('')}"/></svg>`;
}
