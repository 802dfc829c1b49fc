// Run by `node --test`, which has no global functions.
import * as runner from 'node:test';
import { memoryStore } from '@sluice/old-core';
import { describeStore } from '@sluice/old-testing';

describeStore('in memory', { source: 'memory', create: (clock) => memoryStore({ clock }) }, runner);
