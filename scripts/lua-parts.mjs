const WHOLE_NUMBER = 'algorithms/whole-number.lua';
const parts = (names) => names.map((name) => `stores/redis/frame/${name}.lua`);

/** What stands before all kernels, and what before each of those that use it: those that are usual do without. */
export const BEFORE_ALL = 'algorithms/instant-and-field.lua';
export const beforeKernel = (kernel) => (/\bto_integer\(/.test(kernel) ? [WHOLE_NUMBER] : []);

/** Numbers of a policy that frame/alone.lua reads. */
const MOST_NUMBERS = 4;

/** A kernel that can do nothing but decide: what it takes to make a function is paid at every call, be it called or not. */
function onlyDeciding(kernel) {
  const arity = Number(/arity = (\d+)/.exec(kernel)[1]);
  if (arity > MOST_NUMBERS) throw new Error(`frame/alone.lua reads ${MOST_NUMBERS} numbers of a policy, not ${arity}`);
  const deciding = kernel
    .replace(/^function \w+\.(?!decide\b)\w+\(.*\n(?:(?!end$).*\n)*end\n/gm, '')
    .replace(/(arity = \d) }/, '$1, decide = false }'); // room for all that there will be
  const helpers = [...deciding.matchAll(/^local function (\w+)\(.*\n(?:(?!end$).*\n)*end\n/gm)];
  const unused = helpers.find(([, name]) => deciding.split(new RegExp(`\\b${name}\\(`)).length === 2);
  return unused === undefined ? deciding : onlyDeciding(deciding.replace(unused[0], ''));
}

/** The scripts that decide: their parts, in the order in which they stand on each other, the kernels they know, and what they
 * need of those. */
export const SCRIPTS = {
  frame: {
    parts: [WHOLE_NUMBER].concat(
      parts([
        ...['clock', 'policy', 'failure', 'call', 'value'],
        ...['details', 'editions', 'decide', 'escalation', 'edits', 'frame'],
      ]),
    ),
    takes: () => true,
    needs: (kernel) => kernel,
  },
  runs: {
    parts: [...parts(['clock', 'alone']), WHOLE_NUMBER, ...parts(['policy', 'failure', 'runs'])],
    // Long states have keys of their own: those are opened by the frame.
    takes: (kernel) => !/apart = true/.test(kernel),
    needs: onlyDeciding,
  },
};
