/** The fields of a body. */
export type Fields = Readonly<Record<string, unknown>>;

/** One operation of `/v1`, from which its route, its rights and its description follow. */
export interface Operation {
  readonly summary: string;
  /** The fields of its body. */
  readonly needs: readonly string[];
  readonly may?: readonly string[];
  /** Whether its caller needs rights, because it could raise a limit, or deny others. */
  readonly needsRights?: true;
  /** The schema name of its answer. Undefined: 204 without a body. */
  readonly answer?: 'Decision' | 'Reservation' | 'Acquisition' | 'Renewal' | 'Overrides' | 'Override' | 'Removal';
  readonly run: (fields: Fields, hasRights: boolean) => unknown;
}
