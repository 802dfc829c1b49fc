import { byIp, byRoute, byUser, rateLimit, type Decision, type Store } from '@sluice/express';
import express, { type Express, type Request } from 'express';
import { limits } from './limits.ts';

const MAX_PAGES = 1000;
/** Every account has it. */
export const PASSWORD = 'correct horse battery staple';
/** What the API is about. */
export const articles: readonly string[] = ['Locks', 'Weirs', 'Canals', 'Floodgates', 'Mill races', 'Aqueducts'];

/** Everything is limited by address, and the routes that cost more have limits of their own. */
export function createApi(store: Store, onDecision: (decision: Decision) => void): Express {
  // Longer than the default of 100 ms: the clients share this process, and their load must not look like an outage.
  const common = { store, timeoutMs: 1000, onDecision };
  const perRoute = [byIp<Request>(), byRoute<Request>()];
  const app = express();
  app.set('trust proxy', 'loopback'); // X-Forwarded-For is believed from this machine alone

  app.use(rateLimit({ ...common, name: 'address', policy: limits.address }));

  app.get('/articles/:id', (request, response) => {
    const title = articles[Number(request.params.id)];
    if (title === undefined) response.status(404).json({ error: 'no such article' });
    else response.json({ title });
  });

  // Decided together: a guess that one of the two denies takes nothing from the other.
  const login = rateLimit({
    ...common,
    name: 'login',
    limits: [
      { name: 'login', policy: limits.login, key: perRoute },
      { name: 'account', policy: limits.account, key: byUser(readAccount) },
    ],
  });
  app.post('/login', express.urlencoded({ extended: false }), login, (request, response) => {
    if (readForm(request)['password'] === PASSWORD) response.sendStatus(204);
    else response.status(401).json({ error: 'wrong user or password' });
  });

  const search = rateLimit({ ...common, name: 'search', policy: limits.search, key: perRoute });
  app.get('/search', search, (request, response) => {
    const { q } = request.query;
    response.json(articles.filter((title) => typeof q === 'string' && title.toLowerCase().includes(q.toLowerCase())));
  });

  // An export costs as many units as it has pages.
  const pages = rateLimit({ ...common, name: 'export', policy: limits.export, key: perRoute, cost: readPages });
  app.get('/export', pages, (request, response) => {
    response.type('text/csv').send(`${articles.join('\n')}\n`.repeat(readPages(request)));
  });

  return app;
}

function readPages(request: Request): number {
  const pages = Number(request.query['pages'] ?? 1);
  return Number.isInteger(pages) ? Math.min(Math.max(pages, 1), MAX_PAGES) : 1;
}

function readAccount(request: Request): string | undefined {
  const { user } = readForm(request);
  return typeof user === 'string' ? user.trim().toLowerCase() : undefined;
}

function readForm(request: Request): Readonly<Record<string, unknown>> {
  return (request.body as Readonly<Record<string, unknown>> | undefined) ?? {};
}
