import { LogEntry, type LogDetail, type LogFormat } from './log-entry.ts';
import { present, requestLine } from './request-line.ts';
import { decoded } from './decoded.ts';
import { readInstant } from './stamps.ts';

/** A quote that does not close takes the rest of the line, so that a line is read once. */
const FIELD = /"((?:[^"\\]|\\.)*)(?:"|\\?$)|(\S+)/g;
const NAMES: readonly string[] =
  'type time elb client_port target_port request_processing_time target_processing_time response_processing_time elb_status_code target_status_code received_bytes sent_bytes request user_agent ssl_cipher ssl_protocol target_group_arn trace_id domain_name chosen_cert_arn matched_rule_priority request_creation_time actions_executed redirect_url error_reason'.split(
    ' ',
  );
const FEWEST = NAMES.indexOf('user_agent') + 1;

/** Access logs of AWS's application load balancers. `request_creation_time` is the beginning; older logs have none. */
export class AlbFormat implements LogFormat {
  readonly name = 'alb';
  hasFractions = false;
  readonly hasDurations = true;
  readonly addressesAreBytes = true;

  read(text: string, from: number, to: number): LogEntry | undefined {
    const values = [...text.slice(from, to).matchAll(FIELD)].map((match) => match[1] ?? match[2] ?? '');
    const value = (name: string): string => values[NAMES.indexOf(name)] ?? '';
    const end = readInstant(value('time'));
    if (values.length < FEWEST || end === undefined) return undefined;
    if (!end.isWholeSecond) this.hasFractions = true;
    const begun = readInstant(present(value('request_creation_time')));
    const atMs = begun?.atMs ?? Math.floor(end.atMs - this.#durationMs(value));
    const address = value('client_port').replace(/:\d+$/, '');
    const bytes = Number(value('sent_bytes')) || 0;
    return new LogEntry(this, atMs, address, Number(value('elb_status_code')) || 0, bytes, '', 0, 0, values);
  }

  detail({ parsed }: LogEntry): LogDetail {
    const values = parsed as readonly string[];
    const field = (name: string): string | undefined => {
      const value = present(values[NAMES.indexOf(name.replaceAll('-', '_'))]);
      return value === undefined ? undefined : decoded(value);
    };
    return { ...requestLine(field('request') ?? ''), userAgent: field('user_agent'), user: undefined, field };
  }

  /** -1 stands for a part that did not take place. */
  #durationMs(value: (name: string) => string): number {
    const parts = ['request_processing_time', 'target_processing_time', 'response_processing_time'];
    return parts.reduce((sum, name) => sum + Math.max(Number(value(name)) || 0, 0), 0) * 1000;
  }
}
