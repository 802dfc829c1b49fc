import type { LimitEvent } from '@sluice/core';
import { canonicalAddress } from '@sluice/core/http';
import { findTimeline, type LimiterCore } from '@sluice/core/spi';
import { PageProblem, respond, respondProblem, type PageRequest, type PageResponse } from './exchange.ts';
import type { Fields } from './fields.ts';
import { ACTIONS, KeyActions, type Action, type KeyState } from './key-actions.ts';
import { limitId, listCores, listLimits, type KnownLimit, type LimitedKey } from './limits.ts';
import type { Operator } from './operators.ts';
import type { PageSettings } from './options.ts';
import { Recorder } from './recorder.ts';
import { mergeDenied } from './shared/redis.ts';
import { inTime, Sharing } from './shared/sharing.ts';
import { listOthers, makeRecord, shareKey, takeSnapshot } from './snapshot.ts';
import { CONTENT_POLICY } from './view/app.generated.ts';
import { viewKey, viewKeys } from './view/key.ts';
import { viewPage, viewSnapshot } from './view/page.ts';

const MAX_BODY = 16_384;
const HTML = 'text/html; charset=utf-8';
/** The page, its live part, and that part as JSON. */
const READS = ['', 'live', 'snapshot'];
const MAX_EVENTS = 50;
const READ_EVERY_MS = 2_000;

/** The page of one process: counts, and answers requests. */
export class Page {
  readonly #settings: PageSettings;
  readonly #recorder: Recorder;
  readonly #keys: KeyActions;
  readonly #sharing: Sharing | undefined;
  #eventsReadAtMs = -Infinity;

  constructor(settings: PageSettings) {
    const { limiters, log, share } = settings;
    this.#settings = settings;
    this.#recorder = new Recorder(limiters, () => this.#sharing?.tick());
    const cores = (): readonly LimiterCore[] => listCores(limiters);
    this.#sharing = share ? new Sharing(cores, () => makeRecord(this.#recorder, this.#settings.limiters)) : undefined;
    this.#keys = new KeyActions({ find: this.#find, denialsOf: this.#denialsOf }, log);
  }

  /** Answers a request. Undefined for one that is not for the page. */
  async answer(request: PageRequest): Promise<PageResponse | undefined> {
    const resource = readResource(request);
    if (resource === undefined) return undefined;
    try {
      return await this.#answer(request, resource);
    } catch (error) {
      return respondProblem(readProblem(error, isAction(resource) && resource !== 'key'));
    }
  }

  async close(): Promise<void> {
    this.#recorder.close();
    await this.#sharing?.close();
  }

  /** The limits that a key with this subject may be under: those that denied it know its numbers. */
  readonly #find = (subject: string): readonly KnownLimit[] => [
    ...this.#recorder.denied.find(subject),
    ...listLimits(this.#settings.limiters),
  ];

  /** The denials of a key in the last hour, by all processes that share theirs. */
  readonly #denialsOf = ({ core, limit, subject }: LimitedKey): KeyState['denials'] => {
    const id = limitId(core, limit);
    const own = this.#recorder.denied.find(subject).map(shareKey);
    const keys = [...own, ...listOthers(this.#sharing).flatMap((one) => one.keys)].filter(
      (one) => one.limiter === core.name && one.limit === id && one.key === subject,
    );
    return mergeDenied([{ keys }])
      .flatMap(({ policy, denials }) => denials.map((denial) => ({ ...denial, policy })))
      .toSorted((a, b) => b.atMs - a.atMs);
  };

  /** What changed and broke, as far as it is known within half a second, newest first. */
  async #readEvents(limit?: string, key?: string): Promise<readonly LimitEvent[]> {
    const stores = listCores(this.#settings.limiters).map(({ store }) => store);
    // This process's timeline is for all its limiters.
    const all = this.#settings.limiters === undefined ? [undefined, ...stores] : stores;
    const timelines = [...new Set(all.map(findTimeline))];
    if (performance.now() - this.#eventsReadAtMs >= READ_EVERY_MS) {
      this.#eventsReadAtMs = performance.now();
      // The page itself shows that a store does not answer.
      await inTime(Promise.all(timelines.map((one) => one.refresh().catch(() => undefined))));
    }
    return timelines.flatMap((one) => one.select(limit, key)).toSorted((a, b) => b.atMs - a.atMs);
  }

  async #answer(request: PageRequest, resource: string): Promise<PageResponse> {
    const operator = await this.#settings.findOperator(request);
    if (operator === undefined) throw this.#settings.unauthorized;
    if (resource === REDIRECT) return redirect(request);
    if (!isKnown(resource)) throw new PageProblem(404, 'there is nothing at this path');
    if (resource !== '') checkOrigin(request);
    if (isAction(resource)) return this.#act(request, operator, resource);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new PageProblem(405, 'this takes GET; nothing was done', { allow: 'GET, HEAD' });
    }
    const asked = new URLSearchParams(request.url.split('?', 2)[1]);
    const [limit, given] = ['limit', 'key'].map((name) => asked.get(name)?.trim() || undefined);
    const key = given && (canonicalAddress(given, 64) ?? given); // as limiters count it
    const [all] = await Promise.all([this.#readEvents(), this.#sharing?.refresh()]);
    const events = (await this.#readEvents(limit, key)).slice(0, MAX_EVENTS);
    const troubles = all.filter(({ what, endAtMs }) => (what === 'outage' || what === 'lost') && endAtMs === null);
    const shown = { recorder: this.#recorder, find: this.#find, sharing: this.#sharing, troubles, events };
    const snapshot = takeSnapshot({ ...shown, only: this.#settings.limiters }, operator.name);
    if (resource === 'snapshot') return respondJson(snapshot);
    const fields = { 'content-security-policy': CONTENT_POLICY };
    return respond(200, HTML, (resource === '' ? viewPage : viewSnapshot)(snapshot).text, fields);
  }

  async #act(request: PageRequest, { name }: Operator, action: Action): Promise<PageResponse> {
    if (request.method !== 'POST') throw new PageProblem(405, 'this takes POST; nothing was done', { allow: 'POST' });
    // A page of another site can send neither without a preflight, which is never allowed.
    if (request.header('x-sluice-page') !== '1' || !isJson(request.header('content-type') ?? '')) {
      const expected = 'the header fields Content-Type: application/json and X-Sluice-Page: 1';
      throw new PageProblem(415, `send JSON with ${expected}; nothing was done`);
    }
    const fields = ((await request.body(MAX_BODY)) ?? {}) as Fields;
    const isPage = request.header('accept') === 'text/html'; // and not a program
    if (action === 'key') {
      await this.#sharing?.refresh();
      const states = await this.#keys.look(fields);
      const isBlocking = fields['open'] === 'block';
      return isPage ? respond(200, HTML, viewKeys(states, name, isBlocking).text) : respondJson(states);
    }
    const state = await this.#keys.act(action, fields, name);
    return isPage ? respond(200, HTML, viewKey(state, name).text) : respondJson(state);
  }
}

function respondJson(value: unknown): PageResponse {
  return respond(200, 'application/json', JSON.stringify(value));
}

function isAction(name: string): name is Action {
  return (ACTIONS as readonly string[]).includes(name);
}

function isKnown(name: string): boolean {
  return READS.includes(name) || isAction(name);
}

const REDIRECT = '/';

/** What a request asks for: a resource, `/` for a page without its slash at the end, or undefined for another path. */
function readResource({ url, base }: PageRequest): string | undefined {
  const path = url.split('?', 1)[0] ?? '';
  if (base !== undefined) {
    if (path === base) return REDIRECT;
    return path.startsWith(`${base}/`) ? path.slice(base.length + 1) : undefined;
  }
  const last = path.slice(path.lastIndexOf('/') + 1);
  return isKnown(last) ? last : REDIRECT;
}

/** Links in the page are relative, so that it can be mounted anywhere. */
function redirect({ url }: PageRequest): PageResponse {
  const path = url.split('?', 1)[0] ?? '';
  const location = `./${path.slice(path.lastIndexOf('/') + 1)}/`;
  return respond(307, 'text/plain', `the page is at ${location}\n`, { location });
}

function isJson(type: string): boolean {
  return type.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** @throws PageProblem 403 for a request made by a page of another site. */
function checkOrigin(request: PageRequest): void {
  const site = request.header('sec-fetch-site');
  const origin = request.header('origin');
  // A proxy may change Host, so the browser's own field takes precedence.
  const isOwn =
    site === undefined
      ? origin === undefined || (URL.canParse(origin) && new URL(origin).host === request.header('host'))
      : site === 'same-origin' || site === 'none';
  if (!isOwn) throw new PageProblem(403, 'a page of another site sent this request; nothing was done');
}

/**
 * Turns an error into a response: Sluice's errors with their text, a store's without, because it may contain addresses.
 */
function readProblem(error: unknown, isChange: boolean): PageProblem {
  if (error instanceof PageProblem) return error;
  const { code, message, name, sent } = error as { code?: unknown; message: string; name: string; sent?: unknown };
  const effect = isChange && sent !== false ? 'the change may have been made' : 'nothing was done';
  if (typeof code !== 'string' || !code.startsWith('SLUICE_')) {
    return new PageProblem(500, `the page failed to answer; ${effect}`);
  }
  if (name !== 'StoreError') return new PageProblem(400, message);
  return new PageProblem(503, `the store does not answer (${code}); ${effect}`);
}
