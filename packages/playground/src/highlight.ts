/** A piece of code that has one colour. */
export interface Token {
  readonly text: string;
  readonly kind: 'plain' | 'comment' | 'string' | 'keyword' | 'number' | 'name';
}

const KINDS = ['comment', 'string', 'keyword', 'number', 'name'] as const;
const JAVASCRIPT =
  /(\/\/.*)|('(?:\\.|[^'\\])*')|\b(import|from|const|await|async|new|if|return|class|export|default|null|true|false)\b|\b(\d+)\b|\b(\w+)(?=\()/g;
const HTTP = /(^\{.*)|("[^"]*")|(^HTTP\/1\.1.*)|\b(\d+)\b|(^[A-Za-z-]+)(?=:)/gm;

/** Code of JavaScript in pieces; together they are the code. */
export function highlight(code: string, language: 'javascript' | 'http' = 'javascript'): readonly Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const match of code.matchAll(language === 'http' ? HTTP : JAVASCRIPT)) {
    if (match.index > end) tokens.push({ text: code.slice(end, match.index), kind: 'plain' });
    const groups: readonly (string | undefined)[] = match.slice(1);
    const kind = KINDS[groups.findIndex((group) => group !== undefined)] ?? 'plain';
    tokens.push({ text: match[0], kind });
    end = match.index + match[0].length;
  }
  if (end < code.length) tokens.push({ text: code.slice(end), kind: 'plain' });
  return tokens;
}
