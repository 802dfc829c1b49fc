// What the page knows: the scenario, and what follows from it. Every change makes a new scenario.
import { computed, onBeforeUnmount, onMounted, ref, shallowRef, watch, type Ref, type ShallowRef } from 'vue';
import {
  MOST_CLIENTS,
  busiestClients,
  checkedPolicies,
  clientNames,
  columnsOf,
  initialScenario,
  offeredBy,
  readLink,
  replay,
  totalsOf,
  writeLink,
  type Scenario,
  type Traffic,
} from '../../../../packages/playground/src/index.ts';

/** How long the address stays as it is while a bar is drawn. */
const WRITE_AFTER_MS = 200;
/** How many changes of traffic can be undone. */
const MOST_STEPS = 100;

/** The page's state, as {@link usePlayground} makes it. */
export type Page = ReturnType<typeof usePlayground>;

export function usePlayground() {
  const scenario = shallowRef(initialScenario());
  const problems = shallowRef<readonly string[]>([]);
  const isReady = ref(false);
  const change = (part: Partial<Scenario>) => {
    scenario.value = { ...scenario.value, ...part };
  };

  const checked = computed(() => checkedPolicies(scenario.value.policies));
  const offered = computed(() => offeredBy(scenario.value.traffic));
  const names = computed(() => clientNames(scenario.value.traffic));
  // While a field is wrong, the page shows what was right before.
  const policies = shallowRef(checked.value.policies ?? []);
  watch(
    () => checked.value.policies,
    (right) => {
      if (right !== undefined) policies.value = right;
    },
  );

  const replayed = computed(() =>
    replay(policies.value, offered.value, {
      spanMs: scenario.value.traffic.spanMs,
      watched: scenario.value.client,
      shared: scenario.value.key === 'all',
      retries: scenario.value.traffic.retries,
    }),
  );
  const answers = computed(() => replayed.value.answers);
  const totals = computed(() =>
    totalsOf(answers.value, answers.value[0]?.decision.policies[0]?.windowMs ?? 0, scenario.value.key === 'all'),
  );
  /** The clients that are shown, with their columns. */
  const rows = computed(() =>
    busiestClients(scenario.value.traffic, MOST_CLIENTS).map((client) => ({
      ...{ client, name: names.value[client] ?? '' },
      columns: columnsOf(answers.value, scenario.value.traffic.spanMs, client),
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
    const { traffic } = scenario.value;
    if (past.value.at(-1) !== traffic) past.value = [...past.value.slice(-MOST_STEPS), traffic];
  };
  const undo = () => {
    const traffic = past.value.at(-1);
    if (traffic === undefined) return;
    past.value = past.value.slice(0, -1);
    change({ traffic, request: undefined, client: Math.min(scenario.value.client, traffic.clients.length - 1) });
  };

  keepInAddress({ scenario, problems, isReady });
  return {
    ...{ scenario, problems, isReady, change, checked, policies, names, replayed, answers, totals, rows },
    ...{ shown, shownIndex, select, past, remember, undo },
  };
}

/** The fragment of the address follows the scenario, and the scenario a link that is opened. */
function keepInAddress({
  scenario,
  problems,
  isReady,
}: {
  readonly scenario: ShallowRef<Scenario>;
  readonly problems: ShallowRef<readonly string[]>;
  readonly isReady: Ref<boolean>;
}) {
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
    clearTimeout(timer);
    timer = undefined;
    written = writeLink(scenario.value).link;
    const { history } = globalThis;
    history.replaceState(history.state, '', `#${written}`);
  };
  onMounted(() => {
    open();
    isReady.value = true;
    globalThis.addEventListener('hashchange', open);
    globalThis.addEventListener('pagehide', flush);
    watch(scenario, (now) => {
      if (writeLink(now).link === written) return;
      clearTimeout(timer);
      timer = setTimeout(write, WRITE_AFTER_MS);
    });
  });
  const flush = () => {
    if (timer !== undefined) write();
  };
  onBeforeUnmount(() => {
    clearTimeout(timer);
    globalThis.removeEventListener('hashchange', open);
    globalThis.removeEventListener('pagehide', flush);
  });
}

/** The whole address of a scenario. */
export function addressOf(scenario: Scenario) {
  const { link, isComplete } = writeLink(scenario);
  const { location } = globalThis;
  return { address: `${location.origin}${location.pathname}#${link}`, isComplete };
}
