import { randomBytes } from 'node:crypto';

export type Plan = 'free' | 'paid';

export interface User {
  readonly id: string;
  readonly plan: Plan;
}

/** What a login sends: whatever it likes. */
export interface Credentials {
  readonly user?: unknown;
  readonly password?: unknown;
}

// Stands in for your table of users, where passwords are hashed. Theirs are `ann-secret` and so on.
const plans: ReadonlyMap<string, Plan> = new Map([
  ['ann', 'free'],
  ['bob', 'paid'],
  ['carol', 'free'],
  ['dave', 'free'],
  ['erin', 'free'],
  ['frank', 'free'],
]);
const sessions = new Map<string, User>();

/** The account that a login names, in one spelling: each spelling would have a budget of its own. */
export function accountOf(credentials: Credentials | undefined): string {
  return typeof credentials?.user === 'string' ? credentials.user.trim().toLowerCase() : '';
}

/** A new token; undefined when the password is wrong, or there is no such user. */
export function logIn(credentials: Credentials | undefined): string | undefined {
  const id = accountOf(credentials);
  const plan = plans.get(id);
  if (plan === undefined || credentials?.password !== `${id}-secret`) return undefined;
  const token = randomBytes(16).toString('base64url');
  sessions.set(token, { id, plan });
  return token;
}

/** Who sends this `Authorization` field. */
export function userOf(authorization = ''): User | undefined {
  return sessions.get(authorization.replace(/^Bearer /i, ''));
}
