// Run by `node --test`, which has no global functions.
import * as runner from 'node:test';
import { memoryStore } from '@sluice/core';
import { describeStore } from '@sluice/testing';

describeStore('in memory', { source: 'memory', create: (clock) => memoryStore({ clock }) }, runner);
