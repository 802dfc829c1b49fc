// The contract's target as a program of its own, which any runtime runs.
import { serveTarget } from '@sluice/testkit/target';
import { frameworks } from '../frameworks.ts';
import { targetOf } from '../target.ts';

const [express] = frameworks as [(typeof frameworks)[number]];
await serveTarget(targetOf(express));
