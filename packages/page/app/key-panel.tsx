import { useState } from 'preact/hooks';
import type { KeyState } from '../src/key-actions.ts';
import type { OverrideChange } from '../src/overrides.ts';
import { post } from './client.ts';
import { CompareDialog } from './compare.tsx';
import { Dialog, ReasonForm } from './dialog.tsx';
import { visible } from './keys.tsx';
import { outcomeWords, overrideWords, policyWords } from './words.ts';

const DURATIONS = { '10m': '10 minutes', '1h': 'an hour', '1d': 'a day', '7d': 'a week', '30d': '30 days' };
const OVERRIDE_DURATIONS = { '1h': 'an hour', '1d': 'a day', '7d': 'a week', '30d': '30 days', '': 'no end' };
type Action = 'block' | 'unblock' | 'reset';
const TITLES: Record<Action, string> = { block: 'Block', unblock: 'Unblock', reset: 'Forget what was used' };
type OverrideAction = 'override' | 'end-override';

interface KeyPanelProps {
  readonly state: KeyState;
  readonly operator: string | null;
  readonly onChange: (state: KeyState) => void;
}

/** One key under one limit: its state in words, and what can be done. */
export function KeyPanel({ state, operator, onChange }: KeyPanelProps) {
  const [action, setAction] = useState<Action>();
  const [overriding, setOverriding] = useState<OverrideAction>();
  const [duration, setDuration] = useState('1h');
  const { managed } = state;
  const act = async (reason: object) => {
    const more = action === 'block' ? { duration } : {};
    onChange(await post<KeyState>(action as Action, { id: state.id, ...more, ...reason }));
    setAction(undefined);
  };
  return (
    <li class={`key-state ${state.outcome}`}>
      <h3>
        <bdi>{visible(state.key)}</bdi> <span class="of">of {state.limiter}</span>
      </h3>
      <p class="outcome">{outcomeWords(state)}</p>
      <ul>
        {state.policies.map((policy) => (
          <li key={policy.name}>
            <strong>{policy.name}</strong>: {policyWords(policy, state.atMs)}
          </li>
        ))}
      </ul>
      {managed === null && (
        <p class="note">
          Its limit is in code or in a file: a managed policy can be changed here, for all keys or for one.
        </p>
      )}
      {managed?.override != null && <p class="override">{visible(overrideWords(managed, state.atMs))}</p>}
      <div class="actions">
        {state.outcome === 'blocked' ? (
          <button onClick={() => setAction('unblock')}>Unblock …</button>
        ) : (
          <button onClick={() => setAction('block')}>Block …</button>
        )}
        <button onClick={() => setAction('reset')}>Forget what was used …</button>
        {managed !== null && <button onClick={() => setOverriding('override')}>Another limit for this key …</button>}
        {managed?.override != null && <button onClick={() => setOverriding('end-override')}>End override …</button>}
      </div>
      {managed !== null && overriding !== undefined && (
        <CompareDialog
          title={
            overriding === 'override'
              ? `Another limit: ${visible(state.key)}`
              : `End the override: ${visible(state.key)}`
          }
          submit={overriding === 'override' ? 'Set override now' : 'End override now'}
          operator={operator}
          options={overriding === 'override' ? managed.options : {}}
          {...(overriding === 'override' ? { durations: OVERRIDE_DURATIONS } : {})}
          send={async (change) => {
            const answer = await post<OverrideChange>(overriding, { id: state.id, ...change });
            if (answer.isDone) onChange((await post<readonly KeyState[]>('key', { id: state.id }))[0] ?? state);
            return answer;
          }}
          onClose={() => setOverriding(undefined)}
        />
      )}
      {action !== undefined && (
        <Dialog title={`${TITLES[action]}: ${visible(state.key)}`} onClose={() => setAction(undefined)}>
          <p>Under the limits of {state.limiter}, in every process that shares its store.</p>
          <ReasonForm
            operator={operator}
            submit={TITLES[action]}
            isDanger={action === 'block'}
            onSubmit={act}
            onCancel={() => setAction(undefined)}
          >
            {action === 'block' && (
              <label>
                For
                <select value={duration} onChange={(event) => setDuration(event.currentTarget.value)}>
                  {Object.entries(DURATIONS).map(([value, text]) => (
                    <option key={value} value={value}>
                      {text}
                    </option>
                  ))}
                </select>
              </label>
            )}
          </ReasonForm>
        </Dialog>
      )}
    </li>
  );
}

interface LookUpProps {
  readonly states: readonly KeyState[] | undefined;
  readonly problem: string;
  readonly isBusy: boolean;
  readonly operator: string | null;
  readonly onLookUp: (key: string) => void;
  readonly onChange: (state: KeyState) => void;
}

export function LookUp({ states, problem, isBusy, operator, onLookUp, onChange }: LookUpProps) {
  const [key, setKey] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    onLookUp(key);
  };
  return (
    <section aria-label="One key" id="one-key">
      <h2>One key</h2>
      <form class="look-up" onSubmit={submit}>
        <label>
          Key, such as an address or a user
          <input required value={key} spellcheck={false} onInput={(event) => setKey(event.currentTarget.value)} />
        </label>
        <button class="primary" disabled={isBusy}>
          {isBusy ? 'Looking …' : 'Look up'}
        </button>
      </form>
      <div aria-live="polite">
        {problem !== '' && <p class="problem">{problem}</p>}
        {states?.length === 0 && <p>No limiter counts keys in this process.</p>}
        {states !== undefined && states.length > 0 && (
          <ul class="key-states">
            {states.map((state) => (
              <KeyPanel key={state.id} state={state} operator={operator} onChange={onChange} />
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}
