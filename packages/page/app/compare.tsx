import { useState } from 'preact/hooks';
import { Dialog, ReasonForm } from './dialog.tsx';

/** The numbers before and after a change. */
export interface Compared {
  readonly before: string;
  readonly after: string;
  readonly isDone: boolean;
}

/** What is sent to compare, or to change. */
export interface ChangeRequest {
  readonly options?: Readonly<Record<string, string>>;
  readonly duration?: string;
  /** The numbers that the operator has seen. */
  readonly before?: string;
  readonly confirm: boolean;
  readonly reason: string;
  readonly by?: string;
}

interface CompareDialogProps {
  readonly title: string;
  /** What the change is called on its button. */
  readonly submit: string;
  readonly operator: string | null;
  /** The numbers that can be edited; none for a change that has no numbers. */
  readonly options: Readonly<Record<string, string>>;
  /** How long the change can last, by its text. Absent: without an end. */
  readonly durations?: Readonly<Record<string, string>>;
  /** Compares, or changes where `confirm` is true. */
  readonly send: (change: ChangeRequest) => Promise<Compared>;
  readonly onClose: () => void;
}

/** First compares, then changes. */
export function CompareDialog({ title, submit, operator, durations, send, onClose, ...given }: CompareDialogProps) {
  const [options, setOptions] = useState(given.options);
  const [duration, setDuration] = useState(Object.keys(durations ?? {})[0] ?? '');
  const [compared, setCompared] = useState<Compared>();
  const ask = async (reason: { reason: string; by?: string }) => {
    const length = durations === undefined ? {} : { duration };
    const numbers = Object.keys(options).length === 0 ? {} : { options };
    const before = compared === undefined ? {} : { before: compared.before };
    const answer = await send({ ...numbers, ...length, ...before, ...reason, confirm: compared !== undefined });
    if (answer.isDone) onClose();
    else setCompared(answer);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <ReasonForm
        operator={operator}
        submit={compared === undefined ? 'Compare' : submit}
        isDanger={compared !== undefined}
        onSubmit={ask}
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
                setCompared(undefined);
                setOptions({ ...options, [name]: event.currentTarget.value });
              }}
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
        {compared !== undefined && (
          <table class="compare">
            <thead>
              <tr>
                <th scope="col">Now</th>
                <th scope="col">After the change</th>
              </tr>
            </thead>
            <tbody>
              <tr>
                <td data-label="Now">{compared.before}</td>
                <td data-label="After the change">{compared.after}</td>
              </tr>
            </tbody>
          </table>
        )}
      </ReasonForm>
    </Dialog>
  );
}
