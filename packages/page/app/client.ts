import type { Snapshot } from '../src/snapshot.ts';

/** Where the page is, whether or not its address ends with a slash. */
const base = location.pathname.endsWith('/') ? location.pathname : `${location.pathname}/`;

/** Asks for something, or changes it. Rejects with what the server says is wrong. */
export async function post<Result>(name: string, body: object): Promise<Result> {
  const response = await fetch(base + name, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sluice-page': '1' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json().catch(() => ({}))) as { detail?: string };
  if (response.ok) return answer as Result;
  throw new Error(answer.detail ?? `the server answers ${String(response.status)}`);
}

/** Follows what the server counts. */
export function follow(onSnapshot: (snapshot: Snapshot) => void, onAway: () => void): () => void {
  const events = new EventSource(`${base}events`);
  events.onmessage = ({ data }: MessageEvent<string>) => {
    onSnapshot(JSON.parse(data) as Snapshot);
  };
  events.onerror = onAway;
  return () => {
    events.close();
  };
}
