export { formatNames } from './formats/detect.ts';
export type { SimulateFlags } from './options.ts';
export { runSimulation } from './run-simulation.ts';
