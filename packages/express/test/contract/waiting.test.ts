import { describeAdapter } from '@sluice/testkit/contract';
import { frameworks } from '../frameworks.ts';
import { adapterOf } from '../adapter.ts';

for (const framework of frameworks) describeAdapter(adapterOf(framework), 'waiting');
