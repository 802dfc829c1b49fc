import { describeAdapter } from '@sluice/testkit/contract';
import { hono } from '../adapters.ts';

describeAdapter(hono);
