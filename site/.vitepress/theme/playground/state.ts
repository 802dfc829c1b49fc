// What the page knows: the scenario, and what follows from it. Every change makes a new scenario.
import { computed, onBeforeUnmount, onMounted, ref, shallowRef, watch } from 'vue';
import { readLink, writeLink } from '../../../playground/link.ts';
import { checkPolicies } from '../../../playground/policies.ts';
import { replay } from '../../../playground/replay.ts';
import { initialScenario, type Scenario } from '../../../playground/scenario.ts';
import { findBusiestClients, countColumns, countTotals } from '../../../playground/summary.ts';
import { MAX_CLIENTS, nameClients, type Traffic } from '../../../playground/traffic.ts';

/** How long the address stays as it is while a bar is drawn. */
const WRITE_AFTER_MS = 200;
/** How many changes of traffic can be undone. */
const MAX_STEPS = 100;

/** The page's state, as {@link usePlayground} makes it. */
export type Page = ReturnType<typeof usePlayground>;

export function usePlayground() {
  const scenario = shallowRef(initialScenario());
  const change = (part: Partial<Scenario>) => {
    scenario.value = { ...scenario.value, ...part };
  };
  const checked = computed(() => checkPolicies(scenario.value.policies));
  // While a field is wrong, the page shows what was right before.
  const policies = shallowRef(checked.value.policies ?? []);
  watch(checked, ({ policies: right }) => {
    if (right !== undefined) policies.value = right;
  });

  const traffic = computed(() => scenario.value.traffic);
  const names = computed(() => nameClients(traffic.value));
  const isShared = computed(() => scenario.value.key === 'all');
  const replayed = computed(() =>
    replay(policies.value, traffic.value, { watched: scenario.value.client, isShared: isShared.value }),
  );
  const answers = computed(() => replayed.value.answers);
  const windowMs = computed(() => answers.value[0]?.decision.policies[0]?.windowMs ?? 0);
  const totals = computed(() => countTotals(answers.value, windowMs.value, isShared.value));
  /** The clients that are shown, with their columns. */
  const rows = computed(() =>
    findBusiestClients(traffic.value, MAX_CLIENTS).map((client) => ({
      client,
      name: names.value[client] ?? '',
      columns: countColumns(answers.value, traffic.value.spanMs, client),
    })),
  );

  /** The index of the request that is shown: the watched client's first denied one, or its last, until one is chosen. */
  const shownIndex = computed(() => {
    const { request, client } = scenario.value;
    if (request !== undefined) return Math.min(request, answers.value.length - 1);
    const denied = answers.value.findIndex((answer) => answer.client === client && !answer.decision.allowed);
    return denied === -1 ? answers.value.findLastIndex((answer) => answer.client === client) : denied;
  });
  const shown = computed(() => answers.value[shownIndex.value]);
  const select = (index: number) => {
    const answer = answers.value[index];
    if (answer !== undefined) change({ request: index, client: answer.client });
  };

  const past = shallowRef<readonly Traffic[]>([]);
  /** Keeps the traffic as it is now, for {@link undo}. */
  const remember = () => {
    if (past.value.at(-1) !== traffic.value) past.value = [...past.value.slice(-MAX_STEPS), traffic.value];
  };
  const undo = () => {
    const before = past.value.at(-1);
    if (before === undefined) return;
    past.value = past.value.slice(0, -1);
    change({ traffic: before, request: undefined, client: Math.min(scenario.value.client, before.clients.length - 1) });
  };

  // The fragment of the address follows the scenario, and the scenario a link that is opened.
  const problems = shallowRef<readonly string[]>([]);
  const isReady = ref(false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let written = '';
  const open = () => {
    const fragment = globalThis.location.hash.slice(1);
    if (fragment === written || !new globalThis.URLSearchParams(fragment).has('v')) return;
    const read = readLink(fragment);
    problems.value = read.problems;
    scenario.value = read.scenario;
    written = fragment;
  };
  const write = () => {
    const { history } = globalThis;
    written = writeLink(scenario.value).link;
    history.replaceState(history.state, '', `#${written}`);
  };
  onMounted(() => {
    open();
    isReady.value = true;
    globalThis.addEventListener('hashchange', open);
    watch(scenario, () => {
      clearTimeout(timer);
      timer = setTimeout(write, WRITE_AFTER_MS);
    });
  });
  onBeforeUnmount(() => {
    clearTimeout(timer);
    globalThis.removeEventListener('hashchange', open);
  });

  return {
    ...{ scenario, change, checked, policies, traffic, names, replayed, answers, windowMs, totals, rows },
    ...{ shown, shownIndex, select, past, remember, undo, problems, isReady },
  };
}
