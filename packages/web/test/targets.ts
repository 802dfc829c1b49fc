import { fromNode } from '@sluice/web';
import type { AdapterTarget } from '@sluice/testkit/target';
import { fetchApp, header, responseOf } from './fetch-app.ts';
import { honoApp, honoHeader } from './hono-app.ts';
import { ofFetchHandlers, ofHono } from './impossible.ts';
import { serve } from './serve.ts';

/** Fetch handlers on Node, as the contract suite starts them. */
export const web: AdapterTarget = {
  name: 'fetch handlers on Node',
  start: async (app) => serve(fetchApp(app, fromNode)),
  startHttp2: async (app) => serve(fetchApp(app, fromNode), { isHttp2: true }),
  answer: (_response, answer) => responseOf(answer),
  header,
  impossible: ofFetchHandlers,
};

/** Hono on Node, likewise. */
export const hono: AdapterTarget = {
  name: 'Hono on Node',
  start: async (app) => serve(honoApp(app, fromNode).fetch, { overrides: true }),
  startHttp2: async (app) => serve(honoApp(app, fromNode).fetch, { isHttp2: true, overrides: true }),
  answer: (_response, answer) => responseOf(answer),
  header: honoHeader,
  impossible: { ...ofFetchHandlers, ...ofHono },
};
