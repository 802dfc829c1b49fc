import { articles, PASSWORD } from '../api/api.ts';
import { Advice } from './advice.ts';
import type { Visitor } from './visitor.ts';

/** The account that attackers want. */
export const TARGET_ACCOUNT = 'admin';

const BURST = 30;
const PAGES = 5;

/** Logs in, reads and searches at the pace of a person, and does something else while a route must wait. */
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

/**
 * Reads every article as fast as allowed: until `RateLimit` reports that nothing remains, then waits the reported
 * time.
 */
export async function crawl(visitor: Visitor): Promise<void> {
  const advice = new Advice();
  while (visitor.isActive) {
    const answer = await send(visitor, 'articles');
    if (answer !== undefined) advice.learn('articles', answer);
    await visitor.pause(Math.max(advice.waitMs('articles'), 10));
  }
}

/** Sends thirty searches at once, then pauses, like a badly written page. */
export async function burst(visitor: Visitor): Promise<void> {
  await visitor.pause(Math.random() * 500);
  while (visitor.isActive) {
    await Promise.all(Array.from({ length: BURST }, () => visitor.send('/search?q=weir')));
    await visitor.pause(2000 + Math.random() * 1000);
  }
}

/** Sends without pauses, over several connections, and ignores the responses. */
export async function hammer(visitor: Visitor): Promise<void> {
  const paths = ['/search?q=canal', '/articles/1', '/articles/2', '/articles/3'];
  await Promise.all(
    paths.map(async (path) => {
      while (visitor.isActive) {
        await visitor.send(path);
        await visitor.pause(50);
      }
    }),
  );
}

/** Exports the whole archive, ten pages at a time. */
export async function scrape(visitor: Visitor): Promise<void> {
  while (visitor.isActive) {
    await visitor.send('/export?pages=10');
    await visitor.pause(400);
  }
}

/** From one address, the same password on one account after the other. */
export async function spray(visitor: Visitor): Promise<void> {
  for (let i = 1; visitor.isActive; i++) {
    await visitor.send('/login', { user: `user-${String(i % 1000)}`, password: '123456' });
    await visitor.pause(120);
  }
}

/** One of many addresses that guess the password of one account. */
export async function guess(visitor: Visitor): Promise<void> {
  await visitor.pause(Math.random() * 1000);
  for (let i = 1; visitor.isActive; i++) {
    await visitor.send('/login', { user: TARGET_ACCOUNT, password: `secret${String(i)}` });
    await visitor.pause(1000);
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
