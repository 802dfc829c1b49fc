import { Advice } from './advice.ts';
import { articles, PASSWORD } from './articles.ts';
import type { Visitor } from './visitor.ts';

const PAGES = 5;

/** Logs in, reads and searches at the pace of a person, and does something else where it is told to wait. */
export async function readAround(visitor: Visitor): Promise<void> {
  const advice = new Advice();
  const visit = async (route: Route): Promise<void> => {
    const free = advice.waitMs(route) > 0 ? 'articles' : route;
    await visitor.pause(advice.waitMs(free));
    if (!visitor.isActive) return;
    const answer = await send(visitor, free);
    if (answer !== undefined) advice.learn(free, answer, free === 'export' ? PAGES : 1);
  };

  await visitor.pause(between(0, 500));
  await visit('login');
  while (visitor.isActive) {
    await visitor.pause(between(150, 350));
    await visit(drawRoute());
  }
}

/** Wants every article, as fast as it may: reads on until `RateLimit` says that nothing remains, then waits as long as it says. */
export async function crawl(visitor: Visitor): Promise<void> {
  const advice = new Advice();
  while (visitor.isActive) {
    const answer = await send(visitor, 'articles');
    if (answer !== undefined) advice.learn('articles', answer);
    await visitor.pause(Math.max(advice.waitMs('articles'), 10));
  }
}

type Route = 'articles' | 'search' | 'export' | 'login';

async function send(visitor: Visitor, route: Route): ReturnType<Visitor['send']> {
  switch (route) {
    case 'articles':
      return visitor.send(`/articles/${String(1 + Math.floor(Math.random() * articles.length))}`);
    case 'search':
      return visitor.send('/search?q=lock');
    case 'export':
      return visitor.send(`/export?pages=${String(PAGES)}`);
    case 'login':
      return visitor.send('/login', { user: `reader-${visitor.address}`, password: PASSWORD });
  }
}

function drawRoute(): Route {
  const draw = Math.random();
  if (draw < 0.01) return 'login';
  if (draw < 0.05) return 'export';
  return draw < 0.35 ? 'search' : 'articles';
}

function between(least: number, most: number): number {
  return least + Math.random() * (most - least);
}
