import { createLimiter, fixedWindow, type Store } from '@sluice/core';

type Model = (prompt: string) => Promise<{ text: string; tokens: number }>;

const MOST_TOKENS = 400;

export function askWith(store: Store): (user: string, prompt: string, model: Model) => Promise<string | undefined> {
  const limiter = createLimiter({ name: 'tokens', store, policy: fixedWindow({ limit: 1000, window: '1h' }) });
  return async (user, prompt, model) => {
    const { decision, settle, cancel } = await limiter.reserve(user, MOST_TOKENS);
    if (!decision.allowed) return undefined;
    try {
      const { text, tokens } = await model(prompt);
      await settle(tokens);
      return text;
    } catch (error) {
      await cancel();
      throw error;
    }
  };
}
