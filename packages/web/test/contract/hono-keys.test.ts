import { describeAdapter } from '@sluice/testkit';
import { hono } from '../targets.ts';

describeAdapter(hono, ['keys']);
