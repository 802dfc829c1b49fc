import { useState } from 'preact/hooks';
import type { PolicyChange, ShownPolicy } from '../src/managed-policies.ts';
import { post } from './client.ts';
import { Dialog, ReasonForm } from './dialog.tsx';

/** The managed policies, which are read when they are asked for. */
export function Policies({ operator }: { readonly operator: string | null }) {
  const [policies, setPolicies] = useState<readonly ShownPolicy[]>();
  const [changing, setChanging] = useState<ShownPolicy>();
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const load = async () => {
    setBusy(true);
    await post<readonly ShownPolicy[]>('policies', {}).then(
      (found) => {
        setPolicies(found);
        setProblem('');
      },
      (error: Error) => setProblem(error.message),
    );
    setBusy(false);
  };
  return (
    <section aria-label="Managed policies">
      <h2>Managed policies</h2>
      <p class="note">A change takes effect in every process within a second.</p>
      <button onClick={load} disabled={isBusy}>
        {isBusy ? 'Reading …' : policies === undefined ? 'Show managed policies' : 'Read again'}
      </button>
      <div aria-live="polite">
        {problem !== '' && <p class="problem">{problem}</p>}
        {policies?.length === 0 && <p>There are none.</p>}
        {policies !== undefined && policies.length > 0 && (
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Policy</th>
                <th scope="col">Applications</th>
                <th scope="col">Change</th>
              </tr>
            </thead>
            <tbody>
              {policies.map((policy) => (
                <tr key={`${policy.source} ${policy.name}`}>
                  <td data-label="Name">{policy.name}</td>
                  <td data-label="Policy">{policy.text}</td>
                  <td data-label="Applications">{policy.apps.join(', ')}</td>
                  <td data-label="Change">
                    <button onClick={() => setChanging(policy)}>Change {policy.name} …</button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
      {changing !== undefined && (
        <ChangeDialog
          policy={changing}
          operator={operator}
          onClose={() => {
            setChanging(undefined);
            void load();
          }}
        />
      )}
    </section>
  );
}

interface ChangeDialogProps {
  readonly policy: ShownPolicy;
  readonly operator: string | null;
  readonly onClose: () => void;
}

/** First compares, then changes. */
function ChangeDialog({ policy, operator, onClose }: ChangeDialogProps) {
  const [options, setOptions] = useState(policy.options);
  const [change, setChange] = useState<PolicyChange>();
  const send = async (reason: object) => {
    const { source, name, version } = policy;
    const confirm = change !== undefined;
    const answer = await post<PolicyChange>('policy', { source, name, version, options, confirm, ...reason });
    if (answer.isDone) onClose();
    else setChange(answer);
  };
  return (
    <Dialog title={`Change ${policy.name}`} onClose={onClose}>
      <ReasonForm
        operator={operator}
        submit={change === undefined ? 'Compare' : `Change ${policy.name} now`}
        isDanger={change !== undefined}
        onSubmit={send}
        onCancel={onClose}
      >
        {Object.entries(options).map(([name, value]) => (
          <label key={name}>
            {name}
            <input
              required
              maxLength={40}
              value={value}
              onInput={(event) => {
                setChange(undefined);
                setOptions({ ...options, [name]: event.currentTarget.value });
              }}
            />
          </label>
        ))}
        {change !== undefined && (
          <table class="compare">
            <thead>
              <tr>
                <th scope="col">Now</th>
                <th scope="col">After the change</th>
              </tr>
            </thead>
            <tbody>
              <tr>
                <td data-label="Now">{change.before.text}</td>
                <td data-label="After the change">{change.after}</td>
              </tr>
            </tbody>
          </table>
        )}
      </ReasonForm>
    </Dialog>
  );
}
