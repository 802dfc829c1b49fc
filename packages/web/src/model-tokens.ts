const OUTPUT_TOKENS = 1000;
const CHARACTERS_PER_TOKEN = 4;

/** A model call, as the AI SDK passes it to its middleware. */
export interface ModelCall {
  readonly prompt: unknown;
  readonly maxOutputTokens?: number | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

export function estimateTokens(call: ModelCall): number {
  return countPromptTokens(call) + (call.maxOutputTokens ?? OUTPUT_TOKENS);
}

/** The tokens of a prompt, at least 1. */
export function countPromptTokens({ prompt }: ModelCall): number {
  return Math.max(countTokens(countCharacters(prompt)), 1);
}

export function countTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** The number of characters of all texts in a prompt. Files, which are bytes or URLs in `data`, count as none. */
export function countCharacters(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return 0;
  return Object.entries(value).reduce((sum, [name, part]) => (name === 'data' ? sum : sum + countCharacters(part)), 0);
}

/**
 * The tokens that the model reports as used; undefined if it does not, or reports 0 for both. If only one part is
 * reported, the other is estimated.
 *
 * @param prompt - The tokens of the prompt, if only those of the answer are reported.
 * @param sent - The characters of the answer, if only the tokens of the prompt are reported.
 */
export function readUsedTokens(usage: unknown, prompt: number, sent: number): number | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const { inputTokens, outputTokens } = usage as Readonly<Record<'inputTokens' | 'outputTokens', unknown>>;
  const [input, output] = [readCount(inputTokens), readCount(outputTokens)];
  if ((input ?? 0) === 0 && (output ?? 0) === 0) return undefined;
  return Math.min(Math.ceil((input ?? prompt) + (output ?? countTokens(sent))), Number.MAX_SAFE_INTEGER);
}

/** A number, or the `total` of several kinds. */
function readCount(tokens: unknown): number | undefined {
  const count = typeof tokens === 'object' && tokens !== null ? (tokens as { readonly total?: unknown }).total : tokens;
  return typeof count === 'number' && count >= 0 && Number.isFinite(count) ? count : undefined;
}
