import type { Store } from '@sluice/old-core';
import { APP, APP_POLICY } from './app.generated.ts';
import { jsonResponse, PageProblem, problemResponse, streamResponse, textResponse } from './exchange.ts';
import type { PageRequest, PageResponse } from './exchange.ts';
import { fieldsOf } from './fields.ts';
import { History } from './history.ts';
import { KeyActions } from './key-actions.ts';
import { KeyNames } from './key-names.ts';
import { coresOf, limitsOf } from './limits.ts';
import type { PageSettings } from './options.ts';
import type { Operator } from './operators.ts';
import { Overrides } from './overrides.ts';
import { Recorder } from './recorder.ts';
import { recordOf } from './shared/record-of.ts';
import { Sharing } from './shared/sharing.ts';
import { Snapshots } from './snapshot.ts';

type Action = (fields: Readonly<Record<string, unknown>>, operator: string | undefined) => Promise<unknown>;

const LONGEST_BODY = 16_384;
/** Pages that are kept up to date at once. */
const MOST_STREAMS = 50;
const READS = ['', 'snapshot', 'events'];

/** The page of one process: what it counts, and how it answers. */
export class Page {
  readonly #settings: PageSettings;
  readonly #recorder: Recorder;
  readonly #snapshots: Snapshots;
  readonly #sharing: Sharing | undefined;
  readonly #actions: ReadonlyMap<string, readonly [known: readonly string[], act: Action]>;
  readonly #streams = new Set<() => void>();
  #isClosed = false;

  constructor(settings: PageSettings) {
    const { limiters, log, showKeys, secret, share } = settings;
    this.#settings = settings;
    this.#recorder = new Recorder(limiters);
    const names = new KeyNames(showKeys === 'hashed', secret, () => limitsOf(limiters));
    const history = new History(({ change, shared }) => {
      log(change);
      void sharing?.tell(shared, names.isHashed);
    });
    const keys = new KeyActions(
      names,
      history,
      () => limitsOf(limiters),
      (subject) => this.#recorder.seen(subject),
    );
    const overrides = new Overrides(names, history);
    const storesOf = (): Iterable<Store> => coresOf(limiters).map(({ store }) => store);
    const sharing = share ? new Sharing(storesOf, () => recordOf(this.#recorder, names)) : undefined;
    if (sharing !== undefined) {
      this.#recorder.everySecond(() => {
        sharing.tick();
      });
    }
    this.#sharing = sharing;
    this.#snapshots = new Snapshots(this.#recorder, names, { history, only: limiters, sharing });
    const acts: Readonly<Record<string, Action>> = {
      key: (fields) => keys.states(fields),
      block: (fields, operator) => keys.block(fields, operator),
      unblock: (fields, operator) => keys.unblock(fields, operator),
      reset: (fields, operator) => keys.reset(fields, operator),
      override: async (fields, operator) => keys.state(await overrides.set(fields, operator)),
      'end-override': async (fields, operator) => keys.state(await overrides.end(fields, operator)),
    };
    const known = { ...KeyActions.fields, ...Overrides.fields };
    this.#actions = new Map(Object.entries(acts).map(([name, act]) => [name, [known[name] ?? [], act]]));
  }

  /** Answers a request. Undefined for one that is not for the page. */
  async answer(request: PageRequest): Promise<PageResponse | undefined> {
    const resource = resourceOf(request, (name) => READS.includes(name) || this.#actions.has(name));
    if (resource === undefined) return undefined;
    try {
      return await this.#answer(request, resource);
    } catch (error) {
      return problemResponse(asProblem(error));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const leave of this.#streams) leave();
    this.#recorder.close();
    await this.#sharing?.close();
  }

  async #answer(request: PageRequest, resource: string): Promise<PageResponse> {
    const operator = await this.#settings.findOperator(request);
    if (operator === undefined) throw this.#settings.unauthorized;
    const action = this.#actions.get(resource);
    if (resource === REDIRECT) return redirect(request);
    if (!READS.includes(resource) && action === undefined) throw new PageProblem(404, 'there is nothing at this path');
    if (resource !== '') checkOrigin(request);
    if (action !== undefined) return this.#act(request, operator, action);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new PageProblem(405, 'this takes GET; nothing was done', { allow: 'GET, HEAD' });
    }
    if (resource === '') {
      return textResponse(200, 'text/html; charset=utf-8', APP, { 'content-security-policy': APP_POLICY });
    }
    if (resource === 'snapshot') {
      await this.#sharing?.refresh();
      return jsonResponse(this.#snapshots.take(operator.name));
    }
    return request.method === 'HEAD' ? textResponse(200, 'text/event-stream', '') : this.#events(operator);
  }

  async #act(
    request: PageRequest,
    operator: Operator,
    [known, act]: readonly [readonly string[], Action],
  ): Promise<PageResponse> {
    if (request.method !== 'POST') throw new PageProblem(405, 'this takes POST; nothing was done', { allow: 'POST' });
    // A page of another site can send neither without asking first, and no answer allows it.
    if (request.header('x-sluice-page') !== '1' || !isJson(request.header('content-type') ?? '')) {
      throw new PageProblem(
        415,
        'send JSON with the header fields Content-Type: application/json and X-Sluice-Page: 1; nothing was done',
      );
    }
    const fields = fieldsOf(await request.body(LONGEST_BODY), known);
    return jsonResponse((await act(fields, operator.name)) ?? null);
  }

  #events({ name }: Operator): PageResponse {
    if (this.#streams.size >= MOST_STREAMS) {
      throw new PageProblem(503, `${String(MOST_STREAMS)} pages are open already`, { 'retry-after': '10' });
    }
    return streamResponse((send, finish) => {
      if (this.#isClosed) {
        finish();
        return () => undefined;
      }
      const push = (): void => {
        void this.#sharing?.refresh();
        send(`data: ${JSON.stringify(this.#snapshots.take(name))}\n\n`);
      };
      const stop = this.#recorder.everySecond(push);
      const end = (): void => {
        stop();
        this.#streams.delete(leave);
      };
      const leave = (): void => {
        end();
        finish();
      };
      this.#streams.add(leave);
      push();
      return end;
    });
  }
}

const REDIRECT = '/';

/** What a request asks for: a resource, `/` for a page without its slash at the end, or undefined for another path. */
function resourceOf({ url, base }: PageRequest, isKnown: (name: string) => boolean): string | undefined {
  const path = url.split('?', 1)[0] ?? '';
  if (base !== undefined) {
    if (path === base) return REDIRECT;
    return path.startsWith(`${base}/`) ? path.slice(base.length + 1) : undefined;
  }
  const last = path.slice(path.lastIndexOf('/') + 1);
  return isKnown(last) ? last : REDIRECT;
}

/** The links of the page are relative, so that it can be mounted anywhere. */
function redirect({ url }: PageRequest): PageResponse {
  const path = url.split('?', 1)[0] ?? '';
  const location = `./${path.slice(path.lastIndexOf('/') + 1)}/`;
  return textResponse(307, 'text/plain', `the page is at ${location}\n`, { location });
}

function isJson(type: string): boolean {
  return type.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** @throws PageProblem 403 for a request that a page of another site has made. */
function checkOrigin(request: PageRequest): void {
  const site = request.header('sec-fetch-site');
  const origin = request.header('origin');
  // A proxy may change Host, so that what the browser itself says goes first.
  const isOwn =
    site === undefined
      ? origin === undefined || hostOf(origin) === request.header('host')
      : site === 'same-origin' || site === 'none';
  if (!isOwn) throw new PageProblem(403, 'a page of another site sent this; nothing was done');
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** How errors are told: those of Sluice with their text, those of a store without, because it may hold addresses. */
function asProblem(error: unknown): PageProblem {
  if (error instanceof PageProblem) return error;
  const { code, message, name } = error as { code?: unknown; message: string; name: string };
  if (typeof code !== 'string' || !code.startsWith('SLUICE_')) {
    return new PageProblem(500, 'the page failed to answer; the change may have been made');
  }
  if (name === 'StoreError') {
    return new PageProblem(503, `the store does not answer (${code}); the change may have been made`);
  }
  return new PageProblem(400, message);
}
