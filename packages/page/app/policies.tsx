import { useEffect, useRef, useState } from 'preact/hooks';
import type { PolicyChange, ShownPolicy } from '../src/managed-policies.ts';
import { post } from './client.ts';
import { CompareDialog } from './compare.tsx';

/** The managed policies, which are read when they are asked for. */
export function Policies({ operator }: { readonly operator: string | null }) {
  const [policies, setPolicies] = useState<readonly ShownPolicy[]>();
  const [changing, setChanging] = useState<ShownPolicy>();
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  // Where the list is below what the window shows, a click would seem to do nothing.
  useEffect(() => {
    if (policies !== undefined) list.current?.scrollIntoView({ block: 'nearest' });
  }, [policies]);
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
      <div aria-live="polite" ref={list}>
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
        <CompareDialog
          title={`Change ${changing.name}`}
          submit={`Change ${changing.name} now`}
          operator={operator}
          options={changing.options}
          send={async ({ options, confirm, reason, by }) => {
            const { source, name, version } = changing;
            const change = { source, name, version, options, confirm, reason, by };
            const answer = await post<PolicyChange>('policy', change);
            return { ...answer, before: answer.before.text };
          }}
          onClose={() => {
            setChanging(undefined);
            void load();
          }}
        />
      )}
    </section>
  );
}
