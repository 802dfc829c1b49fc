// What the page does in a browser: it sends forms as JSON, follows the counts, and shows times by the clock of this machine.
/** Wherever the page is, and whether or not its address ends with a slash. */
const base = location.pathname.endsWith('/') ? location.pathname : `${location.pathname}/`;
const [away, filter] = ['away', 'filter'].map((id) => document.getElementById(id)) as [HTMLElement, HTMLFormElement];
const REFRESH_MS = 2_000;

/** Not in all browsers. The server escapes what it sends. */
declare const trustedTypes: { createPolicy(name: string, made: typeof rules): { createHTML(text: string): unknown } };
const rules = { createHTML: (text: string) => text };
const trusted = typeof trustedTypes === 'undefined' ? rules : trustedTypes.createPolicy('sluice', rules);

function show(place: Element, text: string): void {
  place.innerHTML = trusted.createHTML(text) as string;
  const today = new Date().toDateString();
  for (const time of place.querySelectorAll('time')) {
    const at = new Date(time.dateTime);
    const day = at.toDateString() === today ? '' : ` on ${at.toLocaleDateString('en-CA')}`;
    time.textContent = at.toLocaleTimeString('en-GB') + day;
  }
}

async function ask(path: string, fields?: object): Promise<string> {
  const headers = { accept: 'text/html', 'content-type': 'application/json', 'x-sluice-page': '1' };
  const post = { method: 'POST', body: JSON.stringify(fields), headers };
  const response = await fetch(base + path, fields === undefined ? {} : post);
  const text = await response.text();
  if (response.ok) return text;
  const { detail } = JSON.parse(text.startsWith('{') ? text : '{}') as { detail?: string };
  throw new Error(detail ?? `the server answers ${String(response.status)}`);
}

/** The fields of a form; those with a dot in their name are an object. */
function read(form: HTMLFormElement, submitter: HTMLElement | null): object {
  const fields: Record<string, unknown> = {};
  const options: Record<string, unknown> = {};
  for (const [name, value] of new FormData(form, submitter)) {
    if (name.startsWith('options.')) options[name.slice('options.'.length)] = value;
    else fields[name] = value;
  }
  return Object.keys(options).length === 0 ? fields : { ...fields, options };
}

/** Does what a form says, and shows the key's state then, or what is wrong. */
async function submit(form: HTMLFormElement, submitter: HTMLButtonElement): Promise<void> {
  const fields = read(form, submitter);
  const problem = form.querySelector('[role=alert]') ?? away;
  submitter.disabled = true;
  try {
    const text = await ask(String(form.dataset['action']), fields);
    problem.textContent = '';
    const place = form.closest('[data-place]') ?? document.getElementById('found');
    if (place === null) return;
    show(place, text);
    const heading = place.querySelector('h2');
    heading?.focus({ preventScroll: true });
    heading?.scrollIntoView({ block: 'nearest' });
    place.querySelector<HTMLElement>('details[open] input[name=reason]')?.focus();
  } catch (error) {
    problem.textContent = (error as Error).message;
  } finally {
    submitter.disabled = false;
  }
  if (form.closest('[data-place]') !== null) await refresh();
}

/** Shows the present counts, and the events that are filtered, but for those that the keyboard is among. */
async function refresh(): Promise<void> {
  if (document.hidden) return;
  try {
    const query = new URLSearchParams(new FormData(filter) as unknown as Record<string, string>);
    const fresh = document.createElement('template');
    fresh.innerHTML = trusted.createHTML(await ask(`live?${query.toString()}`)) as string;
    for (const part of fresh.content.querySelectorAll<HTMLElement>('[data-live]')) {
      const place = document.querySelector(`[data-live=${String(part.dataset['live'])}]`);
      if (place?.contains(document.activeElement) === false) show(place, part.innerHTML);
    }
    away.textContent = '';
  } catch (error) {
    away.textContent = `These are the last numbers: ${(error as Error).message}.`;
  }
}

document.addEventListener('submit', (event) => {
  event.preventDefault();
  if (event.target === filter) return void refresh();
  void submit(event.target as HTMLFormElement, event.submitter as HTMLButtonElement);
});
filter.addEventListener('input', () => void refresh());
for (const part of document.querySelectorAll('[data-live]')) show(part, part.innerHTML);
setInterval(() => void refresh(), REFRESH_MS);
