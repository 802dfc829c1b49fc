import { denialFor, fieldWriter, type HeaderFormat } from '@sluice/core/http';
import type { Decision } from '@sluice/core';

/** A format of header fields, as the option `headers` names it. */
export interface HeaderChoice {
  readonly id: string;
  readonly title: string;
  readonly format: HeaderFormat;
}

export const HEADER_CHOICES: readonly HeaderChoice[] = [
  { id: 'draft-11', title: 'draft 11', format: 'draft-11' },
  { id: 'draft-7', title: 'draft 7', format: 'draft-7' },
  { id: 'draft-6', title: 'draft 6', format: 'draft-6' },
  { id: 'legacy-epoch', title: 'X-RateLimit, epoch', format: { legacy: 'epoch' } },
  { id: 'legacy-delta', title: 'X-RateLimit, delta', format: { legacy: 'delta' } },
];

/** The response to a request, as an adapter sends it. */
export interface Response {
  readonly status: string;
  readonly fields: readonly { readonly name: string; readonly value: string }[];
  readonly body: string | undefined;
}

/** The response to a client, with header fields in this format. */
export function responseTo(decision: Decision, { format }: HeaderChoice): Response {
  const fields = fieldWriter(format)(decision);
  if (decision.allowed) return { status: '200 OK', fields, body: undefined };
  const denial = denialFor(decision);
  return {
    status: '429 Too Many Requests',
    fields: [...fields, ...denial.fields, { name: 'Content-Type', value: denial.contentType }],
    body: denial.body,
  };
}
