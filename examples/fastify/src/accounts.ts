import { randomBytes } from 'node:crypto';

export interface User {
  readonly id: string;
  readonly plan: 'free' | 'paid';
}

// Replace this with your table of users, with hashed passwords. The passwords here are `ann-secret` and so on.
const users = ['ann', 'bob', 'carol'].map((id): User => ({ id, plan: id === 'bob' ? 'paid' : 'free' }));
const sessions = new Map<string, User>();

/** The account in the body of a login, in one spelling, because each spelling would have its own budget. */
export function accountOf(body: unknown): string {
  const { user } = (body ?? {}) as { readonly user?: unknown };
  return typeof user === 'string' ? user.trim().toLowerCase() : '';
}

/** A new token; undefined when the password is wrong or the user does not exist. */
export function logIn(body: unknown): string | undefined {
  const user = users.find(({ id }) => id === accountOf(body));
  const { password } = (body ?? {}) as { readonly password?: unknown };
  if (user === undefined || password !== `${user.id}-secret`) return undefined;
  const token = randomBytes(16).toString('base64url');
  sessions.set(token, user);
  return token;
}

/** The user of this `Authorization` field. */
export function userOf(authorization = ''): User | undefined {
  return sessions.get(authorization.replace(/^Bearer /i, ''));
}
