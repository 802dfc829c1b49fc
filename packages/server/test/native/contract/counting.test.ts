import { describeAdapter } from '@sluice/testkit';
import { remoteTarget } from './remote-target.ts';

describeAdapter(remoteTarget(), ['counting']);
