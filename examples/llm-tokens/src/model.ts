import { setTimeout as sleep } from 'node:timers/promises';

/** A language model. */
export interface Model {
  /** Tokens of a text, as the model counts them. */
  count(text: string): number;
  /**
   * The answer, token by token, until it is finished, `maxTokens` are reached or the signal aborts it (then it
   * throws).
   */
  answer(prompt: string, maxTokens: number, signal: AbortSignal): AsyncIterable<string>;
}

const WORDS = ['water', 'finds', 'its', 'own', 'level', 'and', 'a', 'sluice', 'decides', 'when'];
const USUAL_LENGTH = 60;

/** A stub of a model: a token is a word, and the first number in the prompt is the length of the answer. */
export const fakeModel: Model = {
  count: (text) => text.split(/\s+/).filter((word) => word !== '').length,
  async *answer(prompt, maxTokens, signal) {
    const length = Math.min(Number(/\d+/.exec(prompt)?.[0] ?? USUAL_LENGTH), maxTokens);
    for (let i = 0; i < length; i++) {
      await sleep(20, undefined, { signal });
      yield `${WORDS[i % WORDS.length] ?? ''} `;
    }
  },
};
