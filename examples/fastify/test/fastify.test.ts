import { describeExample } from '@sluice/testkit';

describeExample(new URL('../dist/main.js', import.meta.url));
