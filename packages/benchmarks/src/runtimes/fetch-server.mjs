// A fetch handler on the server of Bun or Deno: by hand, or limited. Prints its port; on SIGTERM, its CPU time in
// microseconds.
import { fixedWindow, fromBun, fromDeno, rateLimit } from '@sluice/web';
import { BODY, LIMIT, WINDOW_MS, fieldsByHand } from '../servers/settings.mjs';

const { Bun, Deno, Response } = globalThis;
const hello = () => Response.json(BODY);
const handlers = {
  'by hand': () => {
    const write = fieldsByHand();
    return () => {
      const response = hello();
      write((name, value) => response.headers.set(name, value));
      return response;
    };
  },
  sluice: () => {
    const address = Bun === undefined ? fromDeno : fromBun();
    return rateLimit({ policy: fixedWindow({ limit: LIMIT, window: WINDOW_MS }), address }).handle(hello);
  },
};
const fetch = handlers[process.argv[2]]();
const options = { hostname: '127.0.0.1', port: 0 };
const server =
  Bun === undefined ? Deno.serve({ ...options, onListen: () => undefined }, fetch) : Bun.serve({ ...options, fetch });
console.log(server.port ?? server.addr.port);
process.on('SIGTERM', () => {
  const { user, system } = process.cpuUsage();
  console.log(user + system);
  process.exit();
});
