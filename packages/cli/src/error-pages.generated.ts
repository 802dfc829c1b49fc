// Written by scripts/build/error-pages.mjs from docs/reference/errors.md. Do not edit: edit that.
/** By code: when it is thrown or given, and what it means. */
export const ERROR_PAGES: Readonly<Record<string, { readonly when: string; readonly text: string }>> = {
  SLUICE_POLICY_INVALID: {
    when: 'Thrown when something is made',
    text: 'A policy, its name or a number in it is invalid; `error.field` names it: a limit that is not a whole number, a window that is not a duration, a precision that does not divide the window, a bucket that cannot be counted exactly, two policy names that differ only in case. In a bundle also a policy from JSON whose algorithm no function of the program names.',
  },
  SLUICE_OPTION_INVALID: {
    when: 'Thrown when something is made',
    text: 'An option has an invalid value, such as a `cost` of 0.5.',
  },
  SLUICE_OPTION_UNKNOWN: {
    when: 'Thrown when something is made',
    text: 'The option does not exist. The message suggests the right one: `windowMs` is `window` here.',
  },
  SLUICE_LIMITER_NAME_TAKEN: {
    when: 'Thrown when something is made',
    text: 'Two limiters of one name on one store would share their budgets, and so would limiters with different policies on two stores with one Redis, database and prefix. Give each a `name`, or, to share on purpose, set `shared: true` on both. `limiter.close()` frees the name.',
  },
  SLUICE_KEY_INVALID: {
    when: 'Thrown by a call',
    text: 'A `TypeError`: a key, or the `holder` of `acquire`, is empty or not a string. With `limits`, the key must be an object with one key per limit and no unknown limit.',
  },
  SLUICE_COST_INVALID: {
    when: 'Thrown by a call',
    text: "A cost is not a number (`TypeError`), or not a whole number from 0 to 2^53 - 1 (`RangeError`); a refund exceeds the decision's cost; or `reserve` or `acquire` got 0 units. A reservation can still be settled.",
  },
  SLUICE_ACQUIRE_NEEDED: {
    when: 'Thrown by a call',
    text: 'A `concurrency` policy holds slots. Call `limiter.acquire(key)`, which returns `{ decision, release, renew }`, instead of `consume`, and `release()` instead of `refund(key)` or `charge(key)`. In a NestJS guard outside HTTP, return a response from `responseOf(context)`.',
  },
  SLUICE_ACQUIRE_NOT_NEEDED: {
    when: 'Thrown by a call',
    text: 'No policy of this limiter holds slots. Use `consume` (and `refund`), or add `concurrency({ limit, ttl })`.',
  },
  SLUICE_WAIT_TIMEOUT: {
    when: 'Thrown by a call',
    text: '`limiter.wait` or `limiter.run` was not allowed within `maxWaitMs`. See waiting.',
  },
  SLUICE_WAIT_FULL: {
    when: 'Thrown by a call',
    text: 'As many requests wait for this key in this process as `maxWaiters` allows: shed the job, or set a larger `maxWaiters`.',
  },
  SLUICE_NEVER_FITS: {
    when: 'Thrown by a call',
    text: 'The cost of a `wait` or `run` is above the limit of a policy: split the job into smaller ones, or raise the limit.',
  },
  SLUICE_DECISION_UNKNOWN: {
    when: 'Thrown by a call',
    text: 'A `TypeError`: `refund()` needs the decision object that this limiter returned (no copy or JSON), or a key; with `limits` an object of keys by limit name.',
  },
  SLUICE_RESET_ALL_UNSUPPORTED: {
    when: 'Thrown by a call',
    text: '`limiter.resetAll()` works on a `memoryStore` only. See testing your application.',
  },
  SLUICE_LIMITER_CLOSED: { when: 'Thrown by a call', text: 'The call came after `limiter.close()`.' },
  SLUICE_POLICY_UNCONFIGURED: {
    when: 'Thrown by a call',
    text: "`reset`, `block`, `unblock`, `charge` or `refund(key)` was called on a limit without its managed policy; for decisions `onUnconfigured` applies. A **warning** of this code names the cause:\n\n- The policy does not exist, or was removed: put it, under the limiter's policy name and `prefix`.\n- It does not list this application: add its `app`, spelt exactly, to the policy's `apps`.\n- A newer release wrote it: update this process, or put a policy that both know.\n- Another program wrote under that name: put the policy to replace it.",
  },
  SLUICE_POLICIES_READ_ONLY: {
    when: 'Thrown by a call',
    text: '`put` or `remove` was called on a read-only source of managed policies. Change the policy in its own system.',
  },
  SLUICE_DENIED: {
    when: 'Thrown by a call',
    text: "A `RateLimitError`, passed to the framework's error handler under `throw: true`: the request was denied. It carries `status`, `headers` and `decision`.",
  },
  SLUICE_STORE_FAILED: {
    when: 'When the store fails',
    text: 'The store was unreachable or returned an error, which is the `cause`; `error.kind` is one of these. Without a cause, too many calls were pending, so only one a second is sent.',
  },
  SLUICE_STORE_TIMEOUT: {
    when: 'When the store fails',
    text: 'The store did not reply within `timeoutMs`. The request may have counted, so it is not retried.',
  },
  SLUICE_BREAKER_OPEN: {
    when: 'When the store fails',
    text: 'The circuit breaker is open after several failures in a row: nothing was sent or counted. The last failure is the `cause`.',
  },
  SLUICE_STORE_KEY_FOREIGN: {
    when: 'When the store fails',
    text: 'A key holds a value that Sluice did not write. Delete it, or give the store its own `prefix`. Only requests for that key fail.',
  },
  SLUICE_STORE_REPLY_INVALID: {
    when: 'When the store fails',
    text: "The reply does not come from Sluice's script. Look for a proxy that rewrites replies.",
  },
  SLUICE_TWINS_DISAGREE: {
    when: 'When the store fails',
    text: 'With `check: true` (or `SLUICE_CHECK=1`), the script in Redis and the process computed different results. Please report the message. `onStoreError` does not apply.',
  },
  SLUICE_REDIS_CLIENT_MISSING: {
    when: 'When the store fails',
    text: '`redisStore` got a URL, but the package `ioredis` is not installed. Install it, or pass a client. In a bundle and on other runtimes than Node.js the first decision rejects with it, whatever `onStoreError` says.',
  },
  SLUICE_POLICY_STALE: {
    when: 'When the store fails',
    text: 'A key was written under a version of its managed policy that the source does not return: it is a lagging replica, or processes read different sources. `onStoreError` decides this request, and the next one reads again.',
  },
  SLUICE_SPLIT_UNCONFIRMED: {
    when: 'When the store fails',
    text: 'This instance of a `splitStore` has no share now, and `onStoreError` decides: the membership has not answered within the grace time after the start or after an absence longer than its `ttlMs`, or its clock is too imprecise for a short window. The message ends with the last failure of the registry. At startup, wait for `await store.ready()`.',
  },
  SLUICE_CONTEXT_UNKNOWN: {
    when: 'Warnings',
    text: 'The guard of `@sluice/nestjs` ran for a GraphQL resolver, a WebSocket or a microservice message. The call passed, **unlimited**. Extend the guard with a `requestOf(context)` that returns the request (for a WebSocket, its handshake), or silence the warning.',
  },
  SLUICE_KEY_MISSING: {
    when: 'Warnings',
    text: "A limiter denied a request with 403 because its option `key` found nothing to count it by. If the key reads the body, put its parser before the limiter. Else choose `onMissingKey`: `'deny'`, `'skip'` or `'shared'`.",
  },
  SLUICE_LIMITER_NAME_DIFFERS: {
    when: 'Warnings',
    text: "Two live processes (applications or services) have limits of one name with other policies in one Redis, database and prefix. They share budgets, so requests to one can be denied for those to the other; of different algorithms, a client meets both. The warning names both policies, and the other process. Give each application a prefix of its own: `redisStore(url, { prefix: 'shop' })`, `sluice serve --prefix desk`; or each limit a `name` of its own. During a deployment that changes numbers it is right, and passes.\n\nIt comes up to a minute after both have started, for the first 1000 names of a process, and not where `createLimiter` makes all limits.",
  },
  SLUICE_LIMITER_NAME_SHARED: {
    when: 'Warnings',
    text: 'Two limiters of one name and the same policies have stores of their own, with one Redis, database and prefix: requests to one can be denied for those to the other. Give two limits a `name` each, two applications a `prefix` each. One limit make once, or set `shared: true` on both. Replicas of one application share their budgets without this warning.',
  },
  SLUICE_LIMITER_PER_REQUEST: {
    when: 'Warnings',
    text: 'A handler makes limiters: ten without a `store` were dropped and never closed, **so that no request is ever denied**; or ten stores of one Redis are open at once in a process, each with a connection. Make them once, outside of the handler. If the limit depends on the request, pass a function: `rateLimit({ policy: (req) => policies[req.user.plan] })`.',
  },
  SLUICE_LISTEN_SILENT: {
    when: 'Warnings',
    text: 'The connection of `sqlSource({ listen })` hears no notifications: a pooler in transaction mode, such as PgBouncer, swallows them. Polling finds changes. Give a connection past the pooler, or leave `listen` out.',
  },
  SLUICE_MEMORY_IN_CLUSTER: {
    when: 'Warnings',
    text: 'A limiter without a `store` counts in memory, and this process is one of several workers (`node:cluster`, PM2). **Together they allow the limit times their number.** Give all one Redis: `store: redisStore(process.env.REDIS_URL)`; containers behind a load balancer too.',
  },
  SLUICE_MEMORY_SATURATED: {
    when: 'Warnings',
    text: "Half of a memory store's `maxKeys` are being denied. They stay denied in a compact form, until there are as many again as `maxKeys`. Raise `maxKeys`, or keep this limit in Redis.",
  },
  SLUICE_CARRY_OVER_PROPORTIONAL: {
    when: 'Warnings',
    text: "A managed policy was put with `carryOver: 'proportional'`, which is read as `'keep'`: used units stay used. Put the policy again.",
  },
  SLUICE_OVERRIDE_UNUSABLE: {
    when: 'Warnings',
    text: 'An override of a managed policy is not in force: another release wrote it, or the policy is of another kind by now. Its keys have the numbers of the policy. Put the override again, or remove it.',
  },
  SLUICE_POLICIES_AWAY: {
    when: 'Warnings',
    text: 'The source of managed policies cannot be read, for the reason in the message. Policies and overrides stay in force, at a start those of `snapshotFile`.',
  },
  SLUICE_POLICIES_LOST: {
    when: 'Warnings',
    text: 'A managed policy disappeared from its source without a removal (server restarted empty, `FLUSHALL`, older backup). Running processes keep it; **for those that start now** it is `unconfigured`. Put it again.',
  },
  SLUICE_POLICIES_UNKNOWN: {
    when: 'Warnings',
    text: "A limiter has not yet loaded its managed policies. Until then `onStoreError` decides, and **`'local'` allows requests**. Set `onStoreError: 'deny'`, or wait for `policies.get(name)` before you listen.",
  },
  SLUICE_PROXY_HOP_COUNT: {
    when: 'Warnings',
    text: "Fastify 5.12.1+ silently ignores a numeric `trustProxy`, because clients can forge addresses under a hop count. **All clients share one budget**, that of the proxy's address. List the proxies: `Fastify({ trustProxy: ['10.0.0.0/8'] })`.",
  },
  SLUICE_PROXY_NOT_TRUSTED: {
    when: 'Warnings',
    text: "A request from a private or loopback address carried `X-Forwarded-For`, which the application ignores. If the sender is your proxy, **all clients share the proxy's budget**: trust its address. If you have no proxy, silence the warning.",
  },
  SLUICE_PROXY_TRUSTS_ALL: {
    when: 'Warnings',
    text: 'The application trusts every proxy: `trust proxy` or `trustProxy` is `true`, or in Koa `app.proxy` without `maxIpsCount`. The address is then the leftmost of `X-Forwarded-For`, which clients write: **each request can claim a new budget.** Use the settings of the guide. If a proxy replaces the field and nothing else can reach the application, silence the warning.',
  },
  SLUICE_REDIS_EVICTS: {
    when: 'Warnings',
    text: "The server's `maxmemory-policy` evicts live counters. A client that creates many keys can **free clients that are being denied**. Use a separate server with `noeviction`: when its memory is full, `onStoreError` decides.",
  },
  SLUICE_REDIS_KEY_PREFIX: {
    when: 'Warnings',
    text: "The ioredis client has a `keyPrefix` with braces, which moves every key of a cluster to one hash slot. Use the store's `prefix`.",
  },
  SLUICE_REFUND_FAILED: {
    when: 'Warnings',
    text: 'A `refund` after a response failed: the store failed or was late, or the `refund` function threw. The units stay taken, so the client **may be denied too early**. Later failures emit no warning: monitor the store.',
  },
  SLUICE_RELEASE_FAILED: {
    when: 'Warnings',
    text: 'The response ended, but releasing its `concurrency` slot failed twice, a second apart. The slot stays taken until its `ttl` expires, so **requests may be denied too early**.',
  },
  SLUICE_REPORT_FAILED: {
    when: 'Warnings',
    text: "A limit with `mode: 'report'` could not decide: the function of it that the message names (for a CORS preflight it has no user), or the store, threw. The request continued, but was not counted or not reported.",
  },
  SLUICE_ROUTE_UNKNOWN: {
    when: 'Warnings',
    text: "`byRoute()` cannot find the route's template and uses a **coarser key**.\n\n- Express, `app.use` before a function or an application that hides its routes: the key is that path. Put the limiter on   the routes, or into that application.\n- Express, or NestJS on Express, mounted by a router or a function: mount with `app.use`.\n- Koa, `app.use` without a visible router of `@koa/router`: one key for all. Put the limiter on the routes, or use   `app.use(router.routes())`.\n- Koa, before an application of koa-mount: the key is the mount path. Put the limiter on the routes, or into their   router with `router.use`.\n- `@sluice/web` without `routes`: one key for each host. Name your routes: `routes: ['/users/:id']`.\n- NestJS, `RateLimitMiddleware`: one key for all. Move limits by route to `@RateLimit()`.",
  },
  SLUICE_SLOT_LOST: {
    when: 'Warnings',
    text: 'A request or a function of `limiter.run` still runs, but lost its slot of `concurrency`: no renewal succeeded within the `ttl` (store away, process paused), or the store lost it (restart, `reset`). **More than the limit may run** until it ends. The `signal` of `run` aborts with this error; a request warns. Use a longer `ttl`.',
  },
  SLUICE_SLOT_TIMEOUT: {
    when: 'Warnings',
    text: 'A request under `concurrency` held its slot for `maxSlotMs` (default ten minutes), or its client read nothing for three minutes, and the slot was released: **more than the limit may run** until it ends. Set a timeout on sockets, or a longer `maxSlotMs`.',
  },
  SLUICE_SPLIT_SHARE_ZERO: {
    when: 'Warnings',
    text: "This instance's share of a limit is 0, so it denies all: the limit is smaller than the number of instances, or the weights differ too much. Use fewer instances, or keep the limit in Redis. If the message reports a bucket that cannot be counted exactly, write the policy in smaller numbers.",
  },
  SLUICE_STATE_AHEAD: {
    when: 'Warnings',
    text: 'A denial comes from a state that ends later than its policy could make it end, because the clock of Redis **ran ahead**: the client is denied until the clock gets there. Run `sluice heal`: when the clock is wrong. It also comes, and ends by itself, after the policy had larger numbers.',
  },
  SLUICE_STORE_AWAY: {
    when: 'Warnings',
    text: 'The store failed several times in a row and its circuit breaker opened: `onStoreError` decides until it recovers. The message shows the last failure, of one of these kinds:\n\n- `denied`: the password is wrong, or a permission is missing.\n- `connection`, `timeout`, `loading`, `cluster`: the server is down, slow or starting.\n- `oom`, `busy`: memory is full, or a script runs long. See what else uses this Redis; counters need memory without   eviction.\n- `readonly`: the client is connected to a replica. Reconnect, or connect through Sentinel or a Cluster client.\n- `key`: something else writes under this prefix.',
  },
  SLUICE_THRESHOLD_FAILED: {
    when: 'Warnings',
    text: 'The function `call` of `onThreshold` threw or rejected; the decision stands. Only the first error is told: catch them in `call`.',
  },
  SLUICE_UNIT_MISSING: {
    when: 'Warnings',
    text: "A `window`, `every` or `ttl` is a bare number that looks like seconds: `window: 60` is 60 milliseconds. Write `'60s'`, or `'60ms'`.",
  },
};
