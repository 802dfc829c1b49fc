import { table } from '../../../../scripts/faults/figures.mjs';
import { figure, rate, spaced } from './numbers.mjs';
import { byMemory, byRedis, byScale } from './rows.mjs';

/** The share of a core to plan with: the rest is for peaks. */
const USED = 0.6;
/** Bytes of TCP, IP and Ethernet around a packet each way, when a call travels alone. */
const PACKET = 66;

/** The figures for planning, and their consequences. Every table separates measured from computed figures. */
export function capacityBlocks(results) {
  const isThere = results.scale && results.memory && results.redis;
  const measured = isThere ? readFigures(results) : undefined;
  const tables = { figures: figuresTable, clients: clientsTable, machines: machinesTable };
  return Object.fromEntries(
    Object.entries(tables).map(([name, write]) => [`capacity-${name}`, isThere ? [write(measured)] : []]),
  );
}

function readFigures(results) {
  const at = (wanted) => byRedis(results, { name: 'sluice', inFlight: 64, policies: 1, ...wanted })[0]?.figures;
  const [largest] = byScale(results, { axis: 'keys', store: 'redis' }).slice(-1);
  const lease = byRedis(results, { name: 'sluice, lease', shape: 'one', inFlight: 64 })[0]?.figures;
  return {
    lone: at({ shape: 'many', inFlight: 1 }),
    many: at({ shape: 'many' }),
    three: at({ shape: 'many', policies: 3 }),
    hot: at({ shape: 'one' }),
    denied: at({ shape: 'denied' }),
    lease,
    redisBytes: largest?.figures.bytesPerKey,
    memoryBytes: byMemory(results, { name: 'sluice, consume', shape: 'many' })[0]?.figures.bytesPerKey,
  };
}

function figuresTable({ lone, many, three, hot, denied, lease, ...bytes }) {
  const head = ['measured', 'Redis µs', 'client µs', 'bytes in / out', 'computed: a second and Redis core', 'at 60 %'];
  const line = (says, figures) => {
    if (figures === undefined) return [says, 'not measured', '', '', '', ''];
    const perCore = 1e6 / figures.redisUs.median;
    return [
      says,
      figure(figures.redisUs),
      figure(figures.cpuUs),
      `${figure(figures.inBytes)} / ${figure(figures.outBytes)}`,
      rate({ median: perCore }),
      rate({ median: perCore * USED }),
    ];
  };
  return [
    table([
      head,
      line('alone, one in flight', lone),
      line('10 000 keys, 64 in flight', many),
      line('three policies, 64 in flight', three),
      line('one hot key, 64 in flight', hot),
      line('90 % denied, 64 in flight', denied),
      line('one hot key with a lease', lease),
    ]),
    '',
    `Bytes a key, measured at a million keys: ${figure(bytes.redisBytes)} in Redis (key, value, expiry and tables), ` +
      `${figure(bytes.memoryBytes)} in a process's memory beyond the key itself.`,
  ].join('\n');
}

function clientsTable({ redisBytes, memoryBytes }) {
  const head = ['clients within a window', 'computed: Redis', 'computed: memory of each process, beyond the keys'];
  const megabytes = (count, bytes) => `${spaced(Math.round((count * bytes.median) / 2 ** 20))} MB`;
  const lines = [1e5, 1e6, 1e7, 1e8].map((count) => [
    spaced(count),
    megabytes(count, redisBytes),
    megabytes(count, memoryBytes),
  ]);
  return table([head, ...lines]);
}

/** Requests a second of all machines, spread evenly, each decided by Redis. */
function machinesTable({ lone, many }) {
  const head = [
    'machines',
    'requests a second each',
    'together',
    'Redis cores, calls alone',
    'Redis cores, batched',
    'Mbit/s at Redis',
  ];
  const cores = (perSecond, { redisUs }) => Number(((perSecond * redisUs.median) / 1e6 / USED).toPrecision(2));
  const lines = [1, 10, 100].flatMap((machines) =>
    [1_000, 10_000].map((each) => {
      const together = machines * each;
      const bytes = lone.inBytes.median + lone.outBytes.median + 2 * PACKET;
      const atMost = Math.round((together * bytes * 8) / 1e6);
      const atLeast = Math.round((together * (many.inBytes.median + many.outBytes.median) * 8) / 1e6);
      return [
        spaced(machines),
        spaced(each),
        spaced(together),
        String(cores(together, lone)),
        String(cores(together, many)),
        `${spaced(atLeast)} to ${spaced(atMost)}`,
      ];
    }),
  );
  return table([head, ...lines]);
}
