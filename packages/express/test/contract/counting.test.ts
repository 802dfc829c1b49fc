import { describeAdapter } from '@sluice/testkit';
import { frameworks } from '../frameworks.ts';
import { targetOf } from '../target.ts';

for (const framework of frameworks) describeAdapter(targetOf(framework), ['counting']);
