import { randomBytes } from 'node:crypto';

export interface User {
  readonly id: string;
  readonly plan: 'free' | 'paid';
}

/** The body of a login, unchecked. */
export interface Credentials {
  readonly user?: unknown;
  readonly password?: unknown;
}

// Replace this with your table of users, with hashed passwords. The passwords here are `ann-secret` and so on.
const users = ['ann', 'bob', 'carol', 'frank'].map((id): User => ({ id, plan: id === 'bob' ? 'paid' : 'free' }));
const sessions = new Map<string, User>();

/** The account of a login in one spelling, because each spelling would have its own budget. */
export function accountOf(credentials: Credentials | undefined): string {
  return typeof credentials?.user === 'string' ? credentials.user.trim().toLowerCase() : '';
}

/** A new token; undefined when the password is wrong or the user does not exist. */
export function logIn(credentials: Credentials | undefined): string | undefined {
  const user = users.find(({ id }) => id === accountOf(credentials));
  if (user === undefined || credentials?.password !== `${user.id}-secret`) return undefined;
  const token = randomBytes(16).toString('base64url');
  sessions.set(token, user);
  return token;
}

/** The user of this `Authorization` field. */
export function userOf(authorization = ''): User | undefined {
  return sessions.get(authorization.replace(/^Bearer /i, ''));
}
