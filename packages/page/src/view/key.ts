import type { Action, KeyState } from '../key-actions.ts';
import { Markup, markup } from './markup.ts';
import { describeDenial, describeEvent, describeOutcome, describeOverride, describePolicyUse } from './words.ts';

const MAX_LINES = 12;
const OPEN = new Markup(' open');
const YOUR_NAME = markup`<label>Your name <input name="by" required maxlength="100" autocomplete="username"></label>`;
const LONG = { '1h': 'an hour', '1d': 'a day', '7d': 'a week', '30d': '30 days' };

/**
 * The states of a looked-up key, under each of its limits.
 *
 * @param isBlocking - Whether the operator is about to block it, under the first one.
 */
export function viewKeys(states: readonly KeyState[], operator: string | undefined, isBlocking: boolean): Markup {
  if (states.length === 0) return markup`<p>No limiter counts keys in this process.</p>`;
  return markup`${states.map((state, i) => markup`<div data-place>${viewKey(state, operator, isBlocking && i === 0)}</div>`)}`;
}

/** One key under one limit: its state in words, and the possible actions. */
export function viewKey(state: KeyState, operator: string | undefined, isBlocking = false): Markup {
  const { managed, outcome, limiter } = state;
  const history = [
    ...state.events.map((event) => ({ atMs: event.atMs, words: describeEvent(event) })),
    ...state.denials.map((denial) => ({ atMs: denial.atMs, words: describeDenial(denial, limiter) })),
  ].toSorted((a, b) => b.atMs - a.atMs);
  const form = (action: Action, title: string, ...fields: readonly Markup[]): Markup =>
    markup`<details name="action"${isBlocking && action === 'block' ? OPEN : undefined}><summary>${title} …</summary>
      <form data-action="${action}">
        <small><bdi>${state.key}</bdi>, under the limits of ${limiter}, in every process that shares its store.</small>
        <input type="hidden" name="id" value="${state.id}">${fields}
        <label>Reason <input name="reason" required maxlength="200" autocomplete="off"></label>
        ${operator === undefined ? YOUR_NAME : undefined}
        <p role="alert"></p>
        <button class="primary">${title}</button>
      </form></details>`;
  const inCode = 'Its limit is in code or in a file. A key of a managed policy can be given other numbers here.';
  const override = managed?.override ?? undefined;
  return markup`<article class="${outcome}">
    <h2 tabindex="-1"><bdi>${state.key}</bdi> <small>of ${limiter}</small></h2>
    <p><strong>${describeOutcome(state)}</strong></p>
    ${state.policies.map((policy) => markup`<p>${policy.name}: ${describePolicyUse(policy, state)}</p>`)}
    ${managed === null ? markup`<small>${inCode}</small>` : undefined}
    ${managed && override ? markup`<p>${describeOverride(managed, override)}</p>` : undefined}
    <div class="actions">
      ${outcome === 'blocked' ? form('unblock', 'Unblock') : form('block', 'Block', viewLengths({ '10m': '10 minutes', ...LONG }))}
      ${form('reset', 'Forget what was used')}
      ${managed ? form('override', 'Another limit for this key', ...viewNumbers(managed)) : undefined}
      ${managed && override ? form('end-override', 'End override') : undefined}
    </div>
    ${history.slice(0, MAX_LINES).map(({ words }) => markup`<p>${words}</p>`)}
  </article>`;
}

function viewLengths(lengths: Readonly<Record<string, string>>): Markup {
  const options = Object.entries(lengths).map(([value, text]) => markup`<option value="${value}">${text}</option>`);
  return markup`<label>For <select name="duration">${options}</select></label>`;
}

function viewNumbers(managed: NonNullable<KeyState['managed']>): readonly Markup[] {
  const inputs = Object.entries(managed.options).map(
    ([name, value]) =>
      markup`<label>${name} <input name="options.${name}" value="${value}" required maxlength="40"></label>`,
  );
  return [markup`<p>Now: ${managed.text}.</p>`, ...inputs, viewLengths({ ...LONG, '': 'no end' })];
}
