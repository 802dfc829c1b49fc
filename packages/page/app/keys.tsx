import type { ComponentChildren } from 'preact';
import type { ShownKey, ShownKeys } from '../src/snapshot.ts';
import { countWords, number } from './words.ts';

interface TopKeysProps {
  readonly title: string;
  /** What is counted, such as `denials`. */
  readonly what: string;
  readonly keys: Pick<ShownKeys, 'oneIn' | 'keys'>;
  /** Whose counts they are, and since when. */
  readonly children: ComponentChildren;
  readonly onOpen: (key: ShownKey) => void;
}

export function TopKeys({ title, what, keys: { oneIn, keys }, children, onOpen }: TopKeysProps) {
  const most = Math.max(1, ...keys.map(({ count }) => count));
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <p class="note">
        {children}
        {oneIn > 1 && ` One of ${number(oneIn)} is counted, at random: counts are estimates, with their bounds.`}
      </p>
      {keys.length === 0 ? (
        <p>None.</p>
      ) : (
        <table class="keys">
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Limit</th>
              <th scope="col">{what}</th>
            </tr>
          </thead>
          <tbody>
            {keys.map((key) => (
              <tr key={`${key.id ?? key.key} ${key.limiter} ${key.policy}`}>
                <td data-label="Key">
                  <button class="key" onClick={() => onOpen(key)}>
                    <bdi>{visible(key.key)}</bdi>
                  </button>
                </td>
                <td data-label="Limit">{nameOf(key)}</td>
                <td data-label={what}>
                  <span class="count">{countWords(key)}</span>
                  <meter aria-hidden="true" min={0} max={most} value={key.count} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function nameOf({ limiter, policy }: ShownKey): string {
  return limiter === policy ? limiter : `${limiter} · ${policy}`;
}

/** Control characters, and those that change the direction of a text, as symbols. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}
