import { useState } from 'preact/hooks';
import type { KeyState } from '../src/key-actions.ts';
import { post } from './client.ts';
import { Dialog, ReasonForm } from './dialog.tsx';
import { visible } from './keys.tsx';
import { outcomeWords, overrideWords, policyWords } from './words.ts';

type Action = 'block' | 'unblock' | 'reset' | 'override' | 'end-override';
const TITLES: Record<Action, string> = {
  block: 'Block',
  unblock: 'Unblock',
  reset: 'Forget what was used',
  override: 'Another limit for this key',
  'end-override': 'End override',
};
const LONG = { '1h': 'an hour', '1d': 'a day', '7d': 'a week', '30d': '30 days' };
/** How long what is done can last, by its text. */
const DURATIONS: Partial<Record<Action, Readonly<Record<string, string>>>> = {
  block: { '10m': '10 minutes', ...LONG },
  override: { ...LONG, '': 'no end' },
};

interface KeyPanelProps {
  readonly state: KeyState;
  readonly operator: string | null;
  readonly onChange: (state: KeyState) => void;
}

/** One key under one limit: its state in words, and what can be done. */
export function KeyPanel({ state, operator, onChange }: KeyPanelProps) {
  const [action, setAction] = useState<Action>();
  const { managed } = state;
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
          Its limit is in code or in a file. A key of a managed policy can be given other numbers here.
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
        {managed !== null && <button onClick={() => setAction('override')}>Another limit for this key …</button>}
        {managed?.override != null && <button onClick={() => setAction('end-override')}>End override …</button>}
      </div>
      {action !== undefined && (
        <ActionDialog {...{ action, state, operator, onChange }} onClose={() => setAction(undefined)} />
      )}
    </li>
  );
}

interface ActionDialogProps extends KeyPanelProps {
  readonly action: Action;
  readonly onClose: () => void;
}

/** Asks for what an action needs, and does it. */
function ActionDialog({ action, state, operator, onChange, onClose }: ActionDialogProps) {
  const { managed } = state;
  const durations = DURATIONS[action];
  const [duration, setDuration] = useState('1h');
  const [options, setOptions] = useState(action === 'override' ? (managed?.options ?? {}) : {});
  const act = async (reason: object) => {
    const length = durations === undefined ? {} : { duration };
    const numbers = action === 'override' ? { options } : {};
    // An override is set or ended where its numbers are still those that the operator sees.
    const before = action === 'override' || action === 'end-override' ? { before: managed?.text } : {};
    onChange(await post<KeyState>(action, { id: state.id, ...length, ...numbers, ...before, ...reason }));
    onClose();
  };
  return (
    <Dialog title={`${TITLES[action]}: ${visible(state.key)}`} onClose={onClose}>
      <p>Under the limits of {state.limiter}, in every process that shares its store.</p>
      <ReasonForm
        operator={operator}
        submit={action === 'override' ? 'Set override' : TITLES[action]}
        isDanger={action === 'block'}
        onSubmit={act}
        onCancel={onClose}
      >
        {action === 'override' && <p>Now: {managed?.text}.</p>}
        {Object.entries(options).map(([name, value]) => (
          <label key={name}>
            {name}
            <input
              required
              maxLength={40}
              value={value}
              onInput={(event) => setOptions({ ...options, [name]: event.currentTarget.value })}
            />
          </label>
        ))}
        {durations !== undefined && (
          <label>
            For
            <select value={duration} onChange={(event) => setDuration(event.currentTarget.value)}>
              {Object.entries(durations).map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
        )}
      </ReasonForm>
    </Dialog>
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
