import { randomBytes } from 'node:crypto';

export type Plan = 'free' | 'paid';

export interface User {
  readonly id: string;
  readonly plan: Plan;
}

/** The body of a login, unchecked. */
export interface Credentials {
  readonly user?: unknown;
  readonly password?: unknown;
}

// Replace this with your table of users, with hashed passwords. The passwords here are `ann-secret` and so on.
const plans: ReadonlyMap<string, Plan> = new Map([
  ['ann', 'free'],
  ['bob', 'paid'],
  ['carol', 'free'],
  ['dave', 'free'],
  ['erin', 'free'],
  ['frank', 'free'],
]);
const sessions = new Map<string, User>();

/** The account of a login in one spelling, because each spelling would have its own budget. */
export function accountOf(credentials: Credentials | undefined): string {
  return typeof credentials?.user === 'string' ? credentials.user.trim().toLowerCase() : '';
}

/** A new token; undefined when the password is wrong or the user does not exist. */
export function logIn(credentials: Credentials | undefined): string | undefined {
  const id = accountOf(credentials);
  const plan = plans.get(id);
  if (plan === undefined || credentials?.password !== `${id}-secret`) return undefined;
  const token = randomBytes(16).toString('base64url');
  sessions.set(token, { id, plan });
  return token;
}

/** The user of this `Authorization` field. */
export function userOf(authorization = ''): User | undefined {
  return sessions.get(authorization.replace(/^Bearer /i, ''));
}
