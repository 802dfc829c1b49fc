export { formatNames } from './formats/detect.ts';
export type { SimulateFlags } from './options.ts';
export { runSimulation, type SimulationContext } from './run-simulation.ts';
