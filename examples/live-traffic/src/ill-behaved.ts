import type { Visitor } from './visitor.ts';

/** The account that everybody would like to have. */
export const TARGET_ACCOUNT = 'admin';

const BURST = 30;

/** Thirty searches at once, then quiet for a while: what a page does that was written in a hurry. */
export async function burst(visitor: Visitor): Promise<void> {
  await visitor.pause(Math.random() * 500);
  while (visitor.isActive) {
    await Promise.all(Array.from({ length: BURST }, () => visitor.send('/search?q=weir')));
    await visitor.pause(2000 + Math.random() * 1000);
  }
}

/** Asks on and on, over several connections, and reads nothing of the answers. */
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

/** Takes the whole archive, ten pages at a time. */
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
