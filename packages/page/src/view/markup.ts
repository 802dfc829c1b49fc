/** HTML in which everything that came from outside is escaped. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A part of a template: text, a list, nothing, or the result of a template. */
type Part = Markup | string | undefined | readonly Part[];

/** An HTML template: its parts are text, in elements and in quoted attributes. */
export function markup(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(texts.reduce((all, text, i) => all + write(parts[i - 1]) + text));
}

function write(part: Part): string {
  if (part instanceof Markup) return part.text;
  return typeof part === 'string' ? escape(part) : (part ?? []).map(write).join('');
}

/** Escapes text. Control characters, and those that change the direction of text, become symbols: `\u{202e}`. */
function escape(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
    .replace(/[&<>"']/g, (char) => `&#${String(char.charCodeAt(0))};`);
}
