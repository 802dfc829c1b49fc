import type { LimitEvent } from '@sluice/core';
import type { ShownCounts, ShownKey, ShownLimiter, Snapshot } from '../snapshot.ts';
import { PROGRAM, STYLE } from './app.generated.ts';
import { markup, Markup } from './markup.ts';
import { describeEvent, formatMs, number, describeProcesses, time } from './words.ts';

const MINUTE_MS = 60_000;

/** The whole page. */
export function viewPage(snapshot: Snapshot): Markup {
  const { health, denied, limiters, events } = viewParts(snapshot);
  const part = (name: string, content: Markup): Markup => markup`<div data-live="${name}">${content}</div>`;
  return markup`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
  <title>Limits</title><style>${new Markup(STYLE)}</style>
</head>
<body><main>
  <header><h1>Limits</h1>${part('health', health)}</header>
  <p id="away" role="status"></p>
  <section aria-label="One key">
    <form class="fields" data-action="key">
      <label>Key, such as an address or a user
        <input name="key" required maxlength="4096" spellcheck="false" autocomplete="off"></label>
      <button class="primary">Look up</button>
      <p role="alert"></p>
    </form>
    <div id="found" aria-live="polite"></div>
  </section>
  ${part('denied', denied)}
  <section aria-label="What happened"><h2>What happened</h2>
    <form class="fields" id="filter" role="search">
      <label>Only this limit <input name="limit" maxlength="200" spellcheck="false" autocomplete="off"></label>
      <label>Only this key <input name="key" maxlength="4096" spellcheck="false" autocomplete="off"></label>
    </form>
    ${part('events', events)}
  </section>
  ${part('limiters', limiters)}
</main><script>${new Markup(PROGRAM)}</script></body></html>`;
}

/** The live part of the page. */
export function viewSnapshot(snapshot: Snapshot): Markup {
  const parts = Object.entries(viewParts(snapshot));
  return markup`${parts.map(([name, content]) => markup`<div data-live="${name}">${content}</div>`)}`;
}

function viewParts(snapshot: Snapshot): Readonly<Record<'health' | 'denied' | 'limiters' | 'events', Markup>> {
  const { limiters, events } = snapshot;
  return {
    health: viewHealth(snapshot),
    denied: markup`${viewPicture(snapshot)}${viewDenied(snapshot)}`,
    events: markup`${events.length === 0 ? markup`<p>Nothing.</p>` : events.map(viewEvent)}`,
    limiters: markup`<section aria-label="Limiters"><h2>Limiters</h2>
      <small>Decisions of this process in the last hour. <code>sluice policy put</code> changes a managed policy for all.</small>
      ${limiters.length === 0 ? markup`<p>There are none in this process.</p>` : limiters.map(viewLimiter)}
    </section>`,
  };
}

/** The stores, the processes, and what is wrong, in one line. */
function viewHealth({ atMs, limiters, denied, lost, troubles, process: { pid, host } }: Snapshot): Markup {
  const away = limiters.filter(({ breaker }) => breaker !== 'closed');
  const outages = troubles.filter(({ what }) => what === 'outage').map((one) => one.atMs);
  const since = outages.length === 0 ? undefined : markup` since ${time(Math.min(...outages))}`;
  const stores = [...new Set(limiters.map(({ store }) => store))];
  const processes = denied.others === null ? '' : `counts of ${describeProcesses(denied.others)}, `;
  const wrong = [
    away.length === 0
      ? undefined
      : markup`No answer from the store (${[...new Set(away.map(({ store }) => store))].join(', ')}) of
          ${away.map(({ name }) => name).join(', ')}${since}: this process decides without it.`,
    ...troubles
      .filter(({ what }) => what === 'lost')
      .map((loss) => markup` Lost policies since ${time(loss.atMs)}: <bdi>${loss.limit}</bdi>.`),
    ...lost.map(viewLost),
    denied.awaySinceMs === null
      ? undefined
      : markup` The counts of other processes are missing since ${time(denied.awaySinceMs)}.`,
  ].filter((one) => one !== undefined);
  const well = `${stores.map((store) => `${store} answers`).join(', ') || 'No limiters'}, no policies lost.`;
  return markup`<p class="${wrong.length === 0 ? 'well' : 'health'}">${wrong.length === 0 ? well : wrong}
    <small>${processes}seen by process ${String(pid)} on ${host} at ${time(atMs)}</small></p>`;
}

const MAX_LISTED = 5;

function viewLost({ name, processes }: Snapshot['lost'][number]): Markup {
  const holders = processes.slice(0, MAX_LISTED).map((one) => `${String(one.pid)} on ${one.host}`);
  const more = processes.length - holders.length;
  return markup` <bdi>${name}</bdi> is lost from its source, still in process
    ${holders.join(', ')}${more > 0 ? ` and ${number(more)} more` : ''}, and in none that starts now.`;
}

/** All denials of the last hour, by minute. */
function viewPicture({ atMs, denied: { byMinute } }: Snapshot): Markup {
  const max = Math.max(...byMinute);
  const all = byMinute.reduce((sum, count) => sum + count, 0);
  const minutes = byMinute.length;
  const at = (i: number): Markup => time(atMs - (minutes - 1 - i) * MINUTE_MS);
  const peak = max === 0 ? undefined : markup`; most in a minute: ${number(max)}, at ${at(byMinute.indexOf(max))}`;
  return markup`<section aria-label="Denials in the last hour"><h2>Denials in the last hour</h2>
    <p><strong>${number(all)}</strong>${peak}</p>
    ${viewBars(byMinute, 'wide')}
    <p class="axis"><small>${at(0)}</small> <small>${at(minutes / 2)}</small> <small>now</small></p>
  </section>`;
}

function viewDenied({ limiters, denied: { keys, others, sinceMs } }: Snapshot): Markup {
  const whose = others === null ? 'By this process alone' : `By ${describeProcesses(others)}`;
  return markup`<section aria-label="Denied most"><h2>Denied most</h2><small>${whose}, since ${time(sinceMs)}.</small>
    ${keys.length === 0 ? markup`<p>None.</p>` : keys.map((key) => viewDeniedKey(key, limiters))}
  </section>`;
}

function viewDeniedKey({ id, key, limiter, policy, count }: ShownKey, limiters: readonly ShownLimiter[]): Markup {
  const numbers = limiters.find(({ name }) => name === limiter)?.policies.find(({ name }) => name === policy)?.text;
  const [field, value] = id === null ? ['key', key] : ['id', id];
  return markup`<form class="denied" data-action="key"><input type="hidden" name="${field}" value="${value}">
    <button class="key"><bdi>${key}</bdi></button>
    <span>${number(count)} denials</span>
    <span class="limit">${limiter === policy ? limiter : `${limiter} · ${policy}`} <small>${numbers ?? ''}</small></span>
    <button name="open" value="block" aria-label="Block ${key}">Block …</button>
  </form>`;
}

function viewEvent(event: LimitEvent): Markup {
  return markup`<p class="event ${event.what}">${describeEvent(event)}</p>`;
}

function viewLimiter({ name, store, breaker, keysInMemory, p50Ms, p99Ms, policies }: ShownLimiter): Markup {
  const about = `store ${store}${store === 'memory' ? '' : `, breaker ${breaker}`}, keys in memory: ${number(keysInMemory)}`;
  const took = p50Ms === null || p99Ms === null ? '' : `, p50 ${formatMs(p50Ms)}, p99 ${formatMs(p99Ms)}`;
  return markup`<article><h3>${name} <small>${about}${took}</small></h3>${policies.map(viewPolicy)}</article>`;
}

function viewPolicy({ name, text, allowed, denied, deniedByMinute }: ShownCounts): Markup {
  return markup`<div class="policy">
    <span>${name} <small>${text ?? ''}</small></span>
    <span>${number(allowed)} allowed</span><span>${number(denied)} denied</span>
    ${viewBars(deniedByMinute, 'small')}
  </div>`;
}

/** A bar for the denials of each minute of the last hour. */
function viewBars(values: readonly number[], size: 'wide' | 'small'): Markup {
  const max = Math.max(...values);
  const label =
    max === 0 ? 'no denials in the last hour' : `at most ${number(max)} denials in a minute of the last hour`;
  const path = values.map(
    (value, i) => `M${String(2 * i + 1)} 24v-${String(value === 0 ? 0 : 1 + (value / max) * 22)}`,
  );
  return markup`<svg class="${size}" role="img" aria-label="${label}" viewBox="0 0 120 24" preserveAspectRatio="none">
    <path d="M0 0${path.join('')}"/></svg>`;
}
