import { createLimiter, slidingWindow, type Decision, type Store } from '@sluice/core';
import { denialFor, fieldWriter } from '@sluice/core/http';
import express, { type Express, type Response } from 'express';
import type { Model } from './model.ts';

export interface Services {
  readonly store: Store;
  readonly model: Model;
  /** Called with every finished answer. */
  readonly log: (line: string) => void;
}

const TOKENS_PER_MINUTE = 1000;
const MOST_TOKENS = 500;

const fieldsOf = fieldWriter();

/** The service: `POST /answers` with `{ "prompt": "...", "max_tokens": 200 }` and `Authorization: Bearer <user>`. */
export function createApp({ store, model, log }: Services): Express {
  const tokens = createLimiter({
    name: 'tokens',
    policy: slidingWindow({ limit: TOKENS_PER_MINUTE, window: '1m' }),
    store,
    timeoutMs: 1000,
  });
  const app = express();
  app.disable('x-powered-by');

  app.post('/answers', express.json(), async (request, response) => {
    const user = /^Bearer (\w+)$/.exec(request.get('authorization') ?? '')?.[1]; // replace with your authentication
    const asked = promptOf(request.body);
    if (user === undefined) return void response.status(401).json({ error: 'say who you are' });
    if (asked === undefined)
      return void response.status(400).json({ error: 'prompt or max_tokens is missing or wrong' });
    const { prompt, maxTokens } = asked;

    // The highest possible cost, so that concurrent requests never exceed the limit.
    const estimate = model.count(prompt) + maxTokens;
    const { decision, settle } = await tokens.reserve(user, estimate);
    for (const { name, value } of fieldsOf(decision)) response.setHeader(name, value);
    if (!decision.allowed) {
      deny(response, decision);
      return;
    }

    const gone = new AbortController();
    response.once('close', () => {
      gone.abort();
    });
    let used = 0;
    try {
      response.type('text/plain');
      for await (const token of model.answer(prompt, maxTokens, gone.signal)) {
        used = (used === 0 ? model.count(prompt) : used) + 1;
        response.write(token);
      }
      response.end();
    } catch {
      // The model has failed, or the client has disconnected.
      if (response.headersSent) response.destroy();
      else response.status(502).type('text/plain').send('The model cannot be reached.\n');
    } finally {
      // The tokens used so far, after any kind of end; 0 when the model did not begin.
      await settle(used).catch((error: unknown) => {
        log(`${user}: could not be settled, and has cost ${String(estimate)}: ${String(error)}`);
      });
      log(`${user}: reserved ${String(estimate)} tokens, used ${String(used)}`);
    }
  });

  return app;
}

function promptOf(body: unknown): { readonly prompt: string; readonly maxTokens: number } | undefined {
  const { prompt, max_tokens: maxTokens = 200 } = (body ?? {}) as { prompt?: unknown; max_tokens?: unknown };
  if (typeof prompt !== 'string' || prompt.trim() === '') return undefined;
  if (!Number.isSafeInteger(maxTokens) || (maxTokens as number) < 1 || (maxTokens as number) > MOST_TOKENS)
    return undefined;
  return { prompt, maxTokens: maxTokens as number };
}

function deny(response: Response, decision: Decision): void {
  const { status, fields, contentType, body } = denialFor(decision);
  for (const { name, value } of fields) response.setHeader(name, value);
  response.status(status).type(contentType).send(body);
}
