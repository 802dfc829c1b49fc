// The page of `sluice simulate --html`: everything is in the element #data, nothing is fetched.
'use strict';
(() => {
  const { report, curves } = JSON.parse(document.getElementById('data').textContent);
  const { requests, clients: clientCount, candidates } = report;
  const by = (id) => document.getElementById(id);
  const number = (value) => value.toLocaleString('en-US');
  const percent = (part, whole) => `${Number(((100 * part) / Math.max(whole, 1)).toPrecision(3))}%`;
  const instant = (atMs) => new Date(atMs).toISOString().replace('.000Z', 'Z');
  const [WIDTH, HEIGHT, LEFT, EDGE] = [720, 220, 48, 24];
  let window = Math.min(1, curves.windows.length - 1);
  let level = 0;
  let sort = { column: 1, ascending: false };

  function element(name, attributes = {}, ...children) {
    const isSvg = ['svg', 'polyline', 'line', 'text'].includes(name);
    const made = isSvg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
    made.append(...children);
    return made;
  }

  function fillTable(table, heads, rows) {
    const cell = (value, i) =>
      i === 0 ? element('th', { scope: 'row' }, value) : element('td', { class: 'number' }, value);
    const head = heads.map((content, i) => element('th', { scope: 'col', class: i === 0 ? '' : 'number' }, content));
    table.replaceChildren(
      element('thead', {}, element('tr', {}, ...head)),
      element('tbody', {}, ...rows.map((row) => element('tr', {}, ...row.map(cell)))),
    );
  }

  const prices = () => curves.windows[window].prices;

  function showHead() {
    const span = report.fromMs === null ? '' : ` from ${instant(report.fromMs)} to ${instant(report.toMs)}`;
    by('summary').textContent =
      `${number(requests)} requests of ${number(clientCount)} clients (by ${report.key})${span}; ${report.logs.map(({ name }) => name).join(', ')}`;
    const notes = [
      [report.withoutKey, 'requests have no key, and are not limited by it'],
      [report.late, 'lines are earlier than those before, and count as of these'],
      [report.forgotten, 'clients were forgotten because of --max-keys; one that came back counts twice'],
      ...report.logs.map(({ name, unreadable }) => [unreadable, `lines of ${name} are no request`]),
    ].filter(([count]) => count > 0);
    const lines = [...notes.map(([count, text]) => `${number(count)} ${text}`), ...report.exceeded];
    if (report.wholeSeconds) lines.push('Requests of one second count as if they had come at its beginning.');
    by('notes').replaceChildren(...lines.map((text) => element('li', {}, text)));
  }

  function showChoices() {
    const choices = curves.windows.map(({ window: text }, i) => {
      const input = element('input', { type: 'radio', name: 'window', value: i });
      input.checked = i === window;
      input.addEventListener('change', () => {
        const { limit } = prices()[level];
        window = i;
        chooseLimit(limit);
      });
      return element('label', {}, input, `in ${text}`);
    });
    by('choices').append(...choices);
    by('limit').max = prices().length - 1;
    by('limit').addEventListener('input', () => {
      level = Number(by('limit').value);
      showLimit();
    });
    chooseLimit(report.suggestions[window]?.limit ?? 1);
  }

  function chooseLimit(limit) {
    level = Math.max(
      prices().findIndex((price) => price.limit >= limit),
      0,
    );
    by('limit').value = level;
    showLimit();
  }

  function showLimit() {
    const { limit, clients, denied, deniedSucceeded } = prices()[level];
    by('limit-value').textContent = number(limit);
    by('limit').setAttribute('aria-valuetext', `${number(limit)} in ${curves.windows[window].window}`);
    const figures = [
      ['Clients denied', `${number(clients)} of ${number(clientCount)} (${percent(clients, clientCount)})`],
      ['Requests denied', `${number(denied)} of ${number(requests)} (${percent(denied, requests)})`],
      ['Of them had succeeded', `${number(deniedSucceeded)} (${percent(deniedSucceeded, denied)})`],
      ['Policy', `fixedWindow --limit ${limit} --window ${curves.windows[window].window}`],
    ];
    by('figures').replaceChildren(
      ...figures.map(([term, text]) => element('div', {}, element('dt', {}, term), element('dd', {}, text))),
    );
    drawCurve();
    showClients();
  }

  function drawCurve() {
    const all = prices();
    const most = Math.max(...all.flatMap(({ clients, denied }) => [clients / clientCount, denied / requests]), 0.0001);
    const x = ({ limit }) => LEFT + (Math.log(limit) / Math.max(Math.log(all.at(-1).limit), 0.01)) * (WIDTH - LEFT - 4);
    const y = (share) => HEIGHT - EDGE - (share / most) * (HEIGHT - 2 * EDGE);
    const line = (name, shareOf) =>
      element('polyline', {
        class: `line ${name}`,
        points: all.map((price) => `${x(price)},${y(shareOf(price))}`).join(' '),
      });
    const label = 'Share of clients and of requests that are denied, by the limit';
    const text = (attributes, content) => element('text', attributes, content);
    const grid = [0, 0.5, 1].flatMap((part) => [
      element('line', { class: 'grid', x1: LEFT, x2: WIDTH, y1: y(part * most), y2: y(part * most) }),
      text({ x: LEFT - 4, y: y(part * most) + 4, 'text-anchor': 'end' }, percent(part * most, 1)),
    ]);
    const here = x(all[level]);
    by('curve').replaceChildren(
      element(
        'svg',
        { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label },
        ...grid,
        line('clients', ({ clients }) => clients / clientCount),
        line('denied', ({ denied }) => denied / requests),
        element('line', { class: 'here', x1: here, x2: here, y1: EDGE, y2: HEIGHT - EDGE }),
        text({ x: LEFT, y: HEIGHT - 6 }, 'limit 1'),
        text({ x: WIDTH, y: HEIGHT - 6, 'text-anchor': 'end' }, number(all.at(-1).limit)),
      ),
    );
  }

  /** Each column with what it shows of a client. */
  const columns = () => [
    ['Client', ({ client }) => client],
    ['Denied by this limit', ({ peaks }) => (peaks[window] > prices()[level].limit ? 1 : 0)],
    ['Requests', (one) => one.requests],
    ...curves.windows.map(({ window: text }, i) => [`Peak in ${text}`, (one) => one.peaks[i]]),
    ...candidates.map(({ policy }, i) => [`Denied by ${policy}`, (one) => one.denied[i]]),
  ];

  function showClients() {
    const all = columns();
    const wanted = by('filter').value.trim().toLowerCase();
    const valueOf = all[sort.column][1];
    const compared = (one, other) => (one < other ? -1 : one > other ? 1 : 0) * (sort.ascending ? 1 : -1);
    const rows = curves.clients
      .filter(({ client }) => client.toLowerCase().includes(wanted))
      .sort((one, other) => compared(valueOf(one), valueOf(other)) || compared(one.requests, other.requests));
    by('clients-note').textContent =
      `The ${number(curves.clients.length)} of ${number(clientCount)} with the highest peaks.`;
    const heads = all.map(([text], column) => {
      const button = element('button', { type: 'button' }, text);
      button.addEventListener('click', () => {
        sort = { column, ascending: sort.column === column ? !sort.ascending : column === 0 };
        showClients();
        by('clients').querySelectorAll('th button')[column].focus();
      });
      return button;
    });
    fillTable(
      by('clients'),
      heads,
      rows.map((one) =>
        all.map(([, value], i) => (i === 0 ? value(one) : i === 1 ? (value(one) ? 'yes' : 'no') : number(value(one)))),
      ),
    );
    const sorted = by('clients').querySelectorAll('thead th')[sort.column];
    sorted.setAttribute('aria-sort', sort.ascending ? 'ascending' : 'descending');
  }

  function showCandidates() {
    for (const one of candidates) {
      const facts = `Denies ${number(one.clients)} of ${number(clientCount)} clients (${percent(one.clients, clientCount)}) and ${number(one.denied)} of ${number(requests)} requests (${percent(one.denied, requests)}), of which ${number(one.deniedSucceeded)} had succeeded.`;
      const delays = `Delays ${number(one.delayed)} requests, by ${number(one.meanDelayMs)} ms on average and ${number(one.maxDelayMs)} ms at most.`;
      const table = element('table');
      fillTable(
        table,
        ['Client', 'Requests', 'Denied', 'First', 'Last', 'Last path', 'User agents'],
        one.top.map(({ client, requests: all, denied, firstAtMs, lastAtMs, lastPath, userAgents }) => [
          ...[client, number(all), number(denied), instant(firstAtMs), instant(lastAtMs), lastPath],
          userAgents.join('; '),
        ]),
      );
      const label = `Clients denied most by ${one.policy}`;
      const scroll = element('div', { class: 'scroll', role: 'region', 'aria-label': label, tabindex: '0' }, table);
      const details = element('details', {}, element('summary', {}, one.policy), element('p', {}, facts));
      if (one.delayed > 0) details.append(element('p', {}, delays));
      if (one.top.length > 0) details.append(scroll);
      details.open = candidates.length === 1;
      by('candidates').append(details);
    }
    if (candidates.length === 0) by('candidates').append(element('p', {}, 'None was given with --policy.'));
  }

  function showSuggestions() {
    by('suggestions-note').textContent =
      `The smallest limits that deny at most ${percent(report.maxClients, 1)} of the clients.`;
    fillTable(
      by('suggestions'),
      ['Policy', 'Clients denied', 'Requests denied', 'Had succeeded'],
      report.suggestions.map(({ policy, clients, denied, deniedSucceeded }) => [
        policy,
        `${number(clients)} (${percent(clients, clientCount)})`,
        `${number(denied)} (${percent(denied, requests)})`,
        number(deniedSucceeded),
      ]),
    );
    fillTable(
      by('peaks'),
      ['Window', 'p50', 'p90', 'p99', 'p99.9', 'Max'],
      report.peaks.map(({ window: text, p50, p90, p99, p999, max }) => [
        text,
        ...[p50, p90, p99, p999, max].map(number),
      ]),
    );
  }

  showHead();
  if (requests > 0) {
    showChoices();
    by('filter').addEventListener('input', showClients);
  }
  showCandidates();
  showSuggestions();
})();
