import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { KeyState } from '../src/key-actions.ts';
import type { ShownKey, Snapshot } from '../src/snapshot.ts';
import { follow, post } from './client.ts';
import { LookUp } from './key-panel.tsx';
import { TopKeys, visible } from './keys.tsx';
import { Limiters } from './limiters.tsx';
import { sharedWords, timeWords } from './words.ts';

function App() {
  const [snapshot, setSnapshot] = useState<Snapshot>();
  const [isAway, setAway] = useState(false);
  const [states, setStates] = useState<readonly KeyState[]>();
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  useEffect(
    () =>
      follow(
        (next) => {
          setSnapshot(next);
          setAway(false);
        },
        () => setAway(true),
      ),
    [],
  );
  const lookUp = async (body: object) => {
    setBusy(true);
    setProblem('');
    await post<readonly KeyState[]>('key', body).then(setStates, (error: Error) => {
      setStates(undefined);
      setProblem(error.message);
    });
    setBusy(false);
  };
  const open = async ({ id, key }: ShownKey) => {
    await lookUp(id === null ? { key } : { id });
    document.getElementById('one-key')?.scrollIntoView();
  };
  const changed = (state: KeyState) => setStates((all) => all?.map((one) => (one.id === state.id ? state : one)));
  if (snapshot === undefined) {
    return (
      <main>
        <h1>Limits</h1>
        <p role="status">{isAway ? 'The server does not answer.' : 'Loading …'}</p>
      </main>
    );
  }
  const { process, atMs, denied, used, limiters, changes, operator, shared } = snapshot;
  return (
    <main>
      <header>
        <h1>Limits</h1>
        <p class="note">
          Process {process.pid} on {process.host}, counted since {timeWords(process.sinceMs, atMs)}.
          {shared === null && ' Each process counts for itself.'} Blocks hold for all that share a store.
        </p>
        <p role="status" class={isAway ? 'problem' : 'note'}>
          {isAway ? 'The server does not answer: these are its last numbers.' : `As of ${timeWords(atMs, atMs)}.`}
        </p>
      </header>
      <LookUp
        states={states}
        problem={problem}
        isBusy={isBusy}
        operator={operator}
        onLookUp={(key) => void lookUp({ key })}
        onChange={changed}
      />
      {shared !== null && (
        <TopKeys title="Denied most" what="Denials" keys={shared} onOpen={(key) => void open(key)}>
          {sharedWords(shared, atMs)}
        </TopKeys>
      )}
      <TopKeys
        title={shared === null ? 'Denied most' : 'Denied most by this process'}
        what="Denials"
        keys={denied}
        onOpen={(key) => void open(key)}
      >
        By this process, since {timeWords(denied.sinceMs, atMs)}.
      </TopKeys>
      <Limiters limiters={limiters} />
      <TopKeys title="Used most" what="Allowed requests" keys={used} onOpen={(key) => void open(key)}>
        By this process, since {timeWords(used.sinceMs, atMs)}.
      </TopKeys>
      <section aria-label="What happened last">
        <h2>What happened last</h2>
        <p class="note">
          {shared === null
            ? 'By this page, in this process.'
            : 'By the pages of all processes that share their counts, and by the command line, in the last week.'}
        </p>
        {changes.length === 0 ? (
          <p>Nothing yet.</p>
        ) : (
          <ol class="changes">
            {changes.map((change) => (
              <li key={`${change.atMs} ${change.target} ${change.action}`}>
                <time>{timeWords(change.atMs, atMs)}</time> <strong>{visible(change.by)}</strong>: {change.action}{' '}
                <bdi>{visible(change.target)}</bdi> {change.detail} ({visible(change.reason)})
              </li>
            ))}
          </ol>
        )}
      </section>
    </main>
  );
}

render(<App />, document.body);
