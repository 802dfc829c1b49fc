import { httpQuestion, memoryQuestion, redisQuestion, serviceQuestion } from './questions.mjs';
import { scaleTables } from './scale.mjs';

/** The tables of each group, as lines of Markdown; none of a group that was not measured. */
export function tablesOf(results) {
  return {
    memory: results.memory ? memoryQuestion(results) : [],
    redis: results.redis ? redisQuestion(results) : [],
    http: results.http ? httpQuestion(results) : [],
    service: results.service ? serviceQuestion(results) : [],
    scale: results.scale ? scaleTables(results) : [],
  };
}
