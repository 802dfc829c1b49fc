import { fromNode } from '@sluice/web';
import { describeAdapter } from '@sluice/testkit/contract';
import { fetchApp, responseOf } from './fetch-app.ts';
import { honoApp } from './hono-app.ts';
import { impossibleInHono, impossibleOn } from './impossible.ts';
import { serve } from './serve.ts';

describeAdapter({
  name: 'fetch handlers on Node',
  start: async (app) => serve(fetchApp(app, fromNode)),
  startHttp2: async (app) => serve(fetchApp(app, fromNode), { isHttp2: true }),
  answer: (_response, answer) => responseOf(answer),
  impossible: impossibleOn('Node'),
});

describeAdapter({
  name: 'Hono on Node',
  start: async (app) => serve(honoApp(app, fromNode).fetch, { overrides: true }),
  startHttp2: async (app) => serve(honoApp(app, fromNode).fetch, { isHttp2: true, overrides: true }),
  answer: (_response, answer) => responseOf(answer),
  impossible: impossibleInHono('Node'),
});
