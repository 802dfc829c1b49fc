// How commands of a terminal write errors, tables and policies: for `sluice`, of which `simulate` is one.
export { EXIT, Failure, UsageError, exitCodeOf, isLate, printError } from './failure.ts';
export { policyKinds } from './policy-kinds.ts';
export { addPolicyOptions, policyFrom, policyFromText } from './policy-options.ts';
export { printable, table } from './table.ts';
