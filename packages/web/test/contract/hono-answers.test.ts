import { describeAdapter } from '@sluice/testkit';
import { hono } from '../adapters.ts';

describeAdapter(hono, 'answers');
