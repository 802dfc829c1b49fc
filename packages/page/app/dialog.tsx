import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Who an operator is, kept for this tab. */
const NAME = 'sluice.operator';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    element.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus(); // who uses a keyboard goes on from there
    };
  }, []);
  return (
    <dialog ref={element} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

interface ReasonFormProps {
  /** The name by which the operator is known. */
  readonly operator: string | null;
  readonly submit: string;
  readonly isDanger?: boolean;
  readonly onSubmit: (reason: { reason: string; by?: string }) => Promise<void>;
  readonly onCancel: () => void;
  readonly children?: ComponentChildren;
}

/** Asks for a reason, does the work and shows that it runs, or what went wrong. */
export function ReasonForm({ operator, submit, isDanger, onSubmit, onCancel, children }: ReasonFormProps) {
  const [reason, setReason] = useState('');
  const [by, setBy] = useState(sessionStorage.getItem(NAME) ?? '');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem('');
    if (operator === null) sessionStorage.setItem(NAME, by);
    await onSubmit(operator === null ? { reason, by } : { reason }).catch((error: Error) => setProblem(error.message));
    setBusy(false);
  };
  return (
    <form onSubmit={send}>
      {children}
      <label>
        Reason
        <input required maxLength={200} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
      {operator === null && (
        <label>
          Your name
          <input required maxLength={100} value={by} onInput={(event) => setBy(event.currentTarget.value)} />
        </label>
      )}
      <p role="alert" class="problem">
        {problem}
      </p>
      <div class="actions">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button class={isDanger ? 'danger' : 'primary'} disabled={isBusy}>
          {isBusy ? 'Working …' : submit}
        </button>
      </div>
    </form>
  );
}
