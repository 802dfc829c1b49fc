import { byIp, byRoute, byUser, rateLimit, type Decision, type RateLimitOptions, type Store } from '@sluice/express';
import express, { type Express, type Request, type RequestHandler } from 'express';
import { limits } from './limits.ts';

interface Article {
  readonly id: number;
  readonly title: string;
}

const SUBJECTS = ['Locks', 'Weirs', 'Canals', 'Floodgates', 'Mill races', 'Aqueducts', 'Tide tables'];
const PLACES = ['in winter', 'of the Fens', 'by hand', 'under load', 'after rain', 'and their keepers'];

/** What the API is about: 42 articles, numbered from 1. */
export const articles: readonly Article[] = SUBJECTS.flatMap((subject) =>
  PLACES.map((place) => `${subject} ${place}`),
).map((title, i) => ({ id: i + 1, title }));

/** Every account has it. */
export const PASSWORD = 'correct horse battery staple';

const MOST_PAGES = 1000;

/** Called with every decision, its key, and the time that the request waited for it. */
export type DecisionListener = (
  decision: Decision,
  key: string | Readonly<Record<string, string>>,
  tookMs: number,
) => void;

/** The API: everything is limited by address, and the routes that cost more have limits of their own. */
export function createApi(store: Store, onDecision: DecisionListener): Express {
  // Longer than the default of 100 ms, because the clients share this process, and their load must not look like an
  // outage of Redis.
  const common = { store, timeoutMs: 1000 };
  const perRoute = [byIp<Request>(), byRoute<Request>()];
  const app = express();
  app.disable('x-powered-by');
  // X-Forwarded-For is trusted from this machine alone.
  app.set('trust proxy', 'loopback');

  app.use(measuredLimiter({ ...common, name: 'address', policy: limits.address.policy }, onDecision));

  app.get('/articles/:id', (request, response) => {
    const article = articles.find(({ id }) => String(id) === request.params.id);
    if (article === undefined) response.status(404).json({ error: 'no such article' });
    else response.json(article);
  });

  // Decided together: a guess that one of the two denies consumes nothing from the other.
  const login = measuredLimiter(
    {
      ...common,
      name: 'login',
      limits: [
        { name: 'login', policy: limits.login.policy, key: perRoute },
        { name: 'account', policy: limits.account.policy, key: byUser(accountOf) },
      ],
    },
    onDecision,
  );
  app.post('/login', express.urlencoded({ extended: false }), login, (request, response) => {
    if (formOf(request)['password'] === PASSWORD) response.sendStatus(204);
    else response.status(401).json({ error: 'wrong user or password' });
  });

  const search = measuredLimiter(
    { ...common, name: 'search', policy: limits.search.policy, key: perRoute },
    onDecision,
  );
  app.get('/search', search, (request, response) => {
    const { q } = request.query;
    const wanted = typeof q === 'string' ? q.toLowerCase() : '';
    response.json(articles.filter(({ title }) => title.toLowerCase().includes(wanted)));
  });

  const exporting = measuredLimiter(
    { ...common, name: 'export', policy: limits.export.policy, key: perRoute, cost: pagesOf },
    onDecision,
  );
  app.get('/export', exporting, (request, response) => {
    const rows = Array.from({ length: pagesOf(request) }, () =>
      articles.map(({ id, title }) => `${String(id)},${title}\n`),
    );
    response.type('text/csv').send(rows.flat().join(''));
  });

  return app;
}

/** `rateLimit()`, and a clock held beside it. */
function measuredLimiter(options: RateLimitOptions, listener: DecisionListener): RequestHandler {
  const startedAtMs = new WeakMap<Request, number>();
  const limiter = rateLimit({
    ...options,
    onDecision: (decision, { key, request }) => {
      listener(decision, key, performance.now() - (startedAtMs.get(request) ?? NaN));
    },
  });
  return (request, response, next) => {
    startedAtMs.set(request, performance.now());
    limiter(request, response, next);
  };
}

/** The cost of an export: its pages. */
function pagesOf(request: Request): number {
  const pages = Number(request.query['pages'] ?? 1);
  return Number.isInteger(pages) ? Math.min(Math.max(pages, 1), MOST_PAGES) : 1;
}

function accountOf(request: Request): string | undefined {
  const { user } = formOf(request);
  return typeof user === 'string' ? user.trim().toLowerCase() : undefined;
}

function formOf(request: Request): { readonly user?: unknown; readonly password?: unknown } {
  const body: unknown = request.body;
  return typeof body === 'object' && body !== null ? body : {};
}
