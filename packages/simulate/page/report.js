// The page of `sluice simulate --html`: everything is in the element #data, nothing is fetched.
'use strict';
(() => {
  const { report, curves } = JSON.parse(document.getElementById('data').textContent);
  const by = (id) => document.getElementById(id);
  const number = (value) => value.toLocaleString('en-US');
  const percent = (part, whole) => {
    const value = whole === 0 ? 0 : (part / whole) * 100;
    return `${Number(value.toFixed(value === 0 || value >= 10 ? 1 : value >= 0.1 ? 2 : 4))}%`;
  };
  const instant = (ms) => (ms === null ? '–' : new Date(ms).toISOString().slice(0, 19).replace('T', ' '));
  /** Characters that are not seen, or turn the order of those around them, are escaped as in a terminal. */
  const visible = (text) =>
    String(text).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);
  /** An element with a text, attributes and children. Texts of the log are never markup. */
  const element = (name, { text, ...attributes } = {}, ...children) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = visible(text);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  /** A policy as the command takes it: a line ends between options, and not within `--limit`. */
  const policyText = (policy) =>
    policy.split(/ (?=--)/).flatMap((part) => [element('span', { class: 'option', text: part }), ' ']);

  const { candidates, overTime, suggestions, requests } = report;
  const clientCount = curves.clientCount;
  const [HEIGHT, LEFT, BOTTOM, TOP] = [220, 48, 24, 10];
  /** Pictures are drawn as wide as their place, so that their texts keep their size. */
  let WIDTH = 480;
  let choice = {
    kind: 'window',
    at: Math.max(
      curves.windows.findIndex(({ window }) => window === '1m'),
      0,
    ),
  };
  let level = startLevel(choice.at);
  let sort = { column: 'denied', ascending: false };

  showHead();
  showChoices();
  showCandidates();
  showSuggestions();
  update();

  /** The suggested limit of a window, as far as there is such a level. */
  function startLevel(at) {
    const limit = suggestions.windows[at]?.limit ?? 1;
    const found = curves.levels.findIndex((one) => one >= limit);
    return found === -1 ? curves.levels.length - 1 : found;
  }

  function showHead() {
    document.querySelectorAll('main > section').forEach((section) => (section.hidden = requests === 0));
    by('summary').textContent =
      requests === 0
        ? `No requests in ${report.logs.map(({ name }) => name).join(', ')}.`
        : `${number(requests)} requests of ${number(clientCount)} clients (by ${report.key}), ${instant(report.fromMs)} to ${instant(report.toMs)} UTC`;
    const notes = report.exceeded.map((text) => `Over the bound: ${text}.`);
    if (report.dropped.keys > 0)
      notes.push(
        `${number(report.dropped.keys)} keys were forgotten because of --max-keys, ${number(report.dropped.live)} of them while they still counted.`,
      );
    if (report.late > 0) notes.push(`${number(report.late)} lines came later than the window of the order.`);
    if (report.withoutKey > 0) notes.push(`${number(report.withoutKey)} requests have no key.`);
    for (const { name, unreadable, stray } of report.logs) {
      if (unreadable > 0) notes.push(`${name}: ${number(unreadable)} lines are no requests.`);
      if (stray > 0)
        notes.push(
          `${name}: ${number(stray)} lines are stamped more than a day after the lines that follow, and count at the instant that the log had reached.`,
        );
    }
    if (report.wholeSeconds)
      notes.push('Stamps are whole seconds: requests of one second count as if they had come at its beginning.');
    by('notes').replaceChildren(...notes.map((text) => element('li', { text })));
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
    setTheme(isDark ? 'dark' : 'light');
    by('theme').addEventListener('click', () => {
      setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    });
  }

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    by('theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
  }

  function showChoices() {
    const add = (kind, at, text) => {
      const input = element('input', { type: 'radio', name: 'choice' });
      input.checked = kind === choice.kind && at === choice.at;
      input.addEventListener('change', () => {
        choice = { kind, at };
        if (kind === 'window') level = startLevel(at);
        update();
      });
      by('choices').append(element('label', {}, input, element('span', { text })));
    };
    curves.windows.forEach(({ window }, i) => add('window', i, `in ${window}, fixed window`));
    candidates.forEach(({ policy }, i) => add('candidate', i, policy));
    by('slider-note').textContent =
      `The slider is of fixed windows by ${report.key} that begin with a request and count requests: of 1 s, 1 min and 1 h, and of the windows of the candidates. Any other policy is a candidate of its own: --policy.`;
    const slider = by('limit');
    slider.max = String(curves.levels.length - 1);
    slider.addEventListener('input', () => {
      level = Number(slider.value);
      update();
    });
    by('filter').addEventListener('input', showClients);
    addEventListener('resize', update);
  }

  /** What is shown: that of the slider, or of a candidate. */
  function shown() {
    if (choice.kind === 'candidate') {
      const candidate = candidates[choice.at];
      return {
        ...{ name: candidate.policy, denied: candidate.denied, succeeded: candidate.deniedSucceeded },
        ...{ clients: candidate.clients, overTime: candidate.deniedOverTime },
        deniedOf: (client) => client.byCandidate[choice.at] ?? 0,
      };
    }
    const window = curves.windows[choice.at];
    return {
      name: `fixedWindow --limit ${curves.levels[level]} --window ${window.window}`,
      denied: window.denied[level],
      succeeded: window.deniedSucceeded[level],
      clients: window.clients[level],
      overTime: window.overTime.map((span) => span[level] ?? 0),
      deniedOf: (client) => client.denied[choice.at]?.[level] ?? 0,
    };
  }

  function update() {
    const isWindow = choice.kind === 'window';
    by('slider').hidden = !isWindow;
    by('curve-figure').hidden = !isWindow;
    const now = shown();
    WIDTH = by('over-time').clientWidth || WIDTH;
    if (isWindow) {
      const text = `${number(curves.levels[level])} in ${curves.windows[choice.at].window}`;
      by('limit').value = String(level);
      by('limit').setAttribute('aria-valuetext', text);
      by('limit-value').textContent = text;
    }
    const figures = [
      ['Clients denied', `${number(now.clients)} (${percent(now.clients, clientCount)})`],
      ['Requests denied', `${number(now.denied)} (${percent(now.denied, requests)})`],
      ['Of them had succeeded', `${number(now.succeeded)} (${percent(now.succeeded, now.denied)})`],
    ];
    by('figures').replaceChildren(
      ...figures.map(([term, text]) => element('div', {}, element('dt', { text: term }), element('dd', { text }))),
      element('div', {}, element('dt', { text: 'Policy' }), element('dd', {}, ...policyText(now.name))),
    );
    drawOverTime(now);
    if (isWindow) drawCurve();
    showClients();
  }

  function svg(name, attributes, text) {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function chart(label) {
    const picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label });
    return picture;
  }

  function axis(picture, most, format) {
    for (const part of [0, 0.5, 1]) {
      const y = TOP + (1 - part) * (HEIGHT - TOP - BOTTOM);
      picture.append(svg('line', { class: 'grid', x1: LEFT, x2: WIDTH, y1: y, y2: y }));
      picture.append(svg('text', { x: LEFT - 4, y: y + 4, 'text-anchor': 'end' }, format(most * part)));
    }
  }

  function drawOverTime({ overTime: denied, denied: total }) {
    const { offered, startMs, widthMs } = overTime;
    const most = Math.max(...offered, 1);
    const picture = chart(
      `Offered and denied requests over time: ${number(requests)} offered, ${number(total)} denied`,
    );
    axis(picture, most, (value) => number(Math.round(value)));
    const width = (WIDTH - LEFT) / offered.length;
    const bar = (value, i, name) => {
      const height = (value / most) * (HEIGHT - TOP - BOTTOM);
      if (height > 0)
        picture.append(
          svg('rect', {
            class: name,
            x: LEFT + i * width,
            width: Math.max(width - 0.4, 0.6),
            y: HEIGHT - BOTTOM - height,
            height,
          }),
        );
    };
    offered.forEach((value, i) => bar(value, i, 'offered'));
    denied.forEach((value, i) => bar(value, i, 'denied'));
    picture.append(svg('text', { x: LEFT, y: HEIGHT - 6 }, instant(startMs)));
    picture.append(
      svg('text', { x: WIDTH, y: HEIGHT - 6, 'text-anchor': 'end' }, instant(startMs + offered.length * widthMs)),
    );
    by('over-time').replaceChildren(picture);
  }

  function drawCurve() {
    const { denied, clients } = curves.windows[choice.at];
    const { levels } = curves;
    const shares = [
      ['clients', clients.map((value) => value / Math.max(clientCount, 1))],
      ['denied', denied.map((value) => value / Math.max(requests, 1))],
    ];
    const most = Math.max(...shares.flatMap(([, values]) => values), 0.0001);
    const picture = chart('Share of clients and of requests that are denied, by the limit');
    axis(picture, most, (value) => percent(value, 1));
    const x = (i) => LEFT + (Math.log(levels[i]) / Math.max(Math.log(levels.at(-1)), 0.01)) * (WIDTH - LEFT - 4);
    const y = (value) => HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM);
    for (const [name, values] of shares)
      picture.append(
        svg('polyline', { class: `line ${name}`, points: values.map((value, i) => `${x(i)},${y(value)}`).join(' ') }),
      );
    picture.append(svg('line', { class: 'here', x1: x(level), x2: x(level), y1: TOP, y2: HEIGHT - BOTTOM }));
    picture.append(svg('text', { x: LEFT, y: HEIGHT - 6 }, 'limit 1'));
    picture.append(svg('text', { x: WIDTH, y: HEIGHT - 6, 'text-anchor': 'end' }, number(levels.at(-1))));
    by('curve').replaceChildren(picture);
  }

  function showClients() {
    const now = shown();
    const columns = [
      ['client', 'Client', ({ client }) => client],
      ['requests', 'Requests', (one) => one.requests],
      ['denied', 'Denied', (one) => now.deniedOf(one)],
      ...curves.windows.map(({ window }, i) => [`peak-${window}`, `Peak in ${window}`, (one) => one.peaks[i]]),
    ];
    const wanted = by('filter').value.trim().toLowerCase();
    const [, , of] = columns.find(([name]) => name === sort.column);
    const rows = curves.clients
      .filter(({ client }) => client.toLowerCase().includes(wanted))
      .map((client) => [of(client), client])
      .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0) * (sort.ascending ? 1 : -1))
      .map(([, client]) => client);
    by('clients-note').textContent =
      `The ${number(curves.clients.length)} of ${number(clientCount)} that are denied most or have the highest peaks.`;
    const head = columns.map(([name, text]) => {
      const button = element('button', { type: 'button', text });
      button.addEventListener('click', () => {
        sort = { column: name, ascending: sort.column === name ? !sort.ascending : name === 'client' };
        showClients();
        by('clients').querySelector(`th[data-column="${name}"] button`).focus();
      });
      const isSorted = sort.column === name;
      return element(
        'th',
        {
          ...{ scope: 'col', 'data-column': name, class: name === 'client' ? '' : 'number' },
          ...(isSorted && { 'aria-sort': sort.ascending ? 'ascending' : 'descending' }),
        },
        button,
      );
    });
    by('clients').replaceChildren(
      element('thead', {}, element('tr', {}, ...head)),
      element(
        'tbody',
        {},
        ...rows.map((client) =>
          element(
            'tr',
            {},
            ...columns.map(([name, , value]) =>
              name === 'client'
                ? element('th', { scope: 'row', text: client.client })
                : element('td', { class: 'number', text: number(value(client)) }),
            ),
          ),
        ),
      ),
    );
  }

  function tableOf(target, head, rows) {
    target.replaceChildren(
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          ...head.map((text, i) => element('th', { scope: 'col', text, class: i === 0 ? '' : 'number' })),
        ),
      ),
      element(
        'tbody',
        {},
        ...rows.map(([first, ...cells]) =>
          element(
            'tr',
            {},
            element('th', { scope: 'row' }, ...policyText(first)),
            ...cells.map((text) => element('td', { class: 'number', text })),
          ),
        ),
      ),
    );
  }

  function showCandidates() {
    const section = by('candidates');
    section.append(element('h2', { id: 'candidates-title', text: 'Candidates' }));
    if (candidates.length === 0) section.append(element('p', { text: 'None was given with --policy.' }));
    for (const candidate of candidates) section.append(candidateDetails(candidate));
  }

  function candidateDetails(candidate) {
    const facts = [
      `Denies ${number(candidate.clients)} of ${number(clientCount)} clients (${percent(candidate.clients, clientCount)}) and ${number(candidate.denied)} of ${number(requests)} requests (${percent(candidate.denied, requests)}), of which ${number(candidate.deniedSucceeded)} had succeeded.`,
    ];
    for (const { key, requests: without } of candidate.withoutKey)
      facts.push(`${number(without)} requests have no key for the limit by ${key}, which leaves them out.`);
    if (candidate.delayed > 0)
      facts.push(
        `Delays ${number(candidate.delayed)} requests, by ${number(candidate.meanDelayMs)} ms on average and ${number(candidate.longestDelayMs)} ms at most.`,
      );
    const table = element('table');
    const most = (counts) =>
      counts
        .slice(0, 3)
        .map(([text, count]) => `${text} (${number(count)})`)
        .join('; ') || '–';
    table.append(
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          ...['Client', 'Requests', 'Denied', 'First', 'Last', 'Statuses', 'Paths', 'User agents'].map((text) =>
            element('th', { scope: 'col', text }),
          ),
        ),
      ),
      element(
        'tbody',
        {},
        ...candidate.top.map((one) =>
          element(
            'tr',
            {},
            element('th', { scope: 'row', text: one.client }),
            element('td', { class: 'number', text: number(one.requests) }),
            element('td', { class: 'number', text: number(one.denied) }),
            element('td', { text: instant(one.firstAtMs) }),
            element('td', { text: instant(one.lastAtMs) }),
            element('td', { text: most(one.statuses) }),
            element('td', { text: most(one.paths) }),
            element('td', { text: most(one.userAgents) }),
          ),
        ),
      ),
    );
    const details = element(
      'details',
      {},
      element('summary', { text: candidate.policy }),
      ...facts.map((text) => element('p', { text })),
    );
    if (candidate.top.length > 0)
      details.append(
        element(
          'div',
          {
            class: 'scroll',
            role: 'region',
            'aria-label': `Clients denied most by ${candidate.policy}`,
            tabindex: '0',
          },
          table,
        ),
      );
    details.open = candidates.length === 1;
    return details;
  }

  function showSuggestions() {
    const { maxClients, windows } = suggestions;
    by('suggestions-note').textContent =
      `The smallest limits that deny at most ${percent(maxClients, 1)} of the clients.`;
    tableOf(
      by('suggestions'),
      ['Policy', 'Clients denied', 'Requests denied', 'Had succeeded'],
      windows.map(({ policy, clients, denied, deniedSucceeded }) => [
        policy,
        `${number(clients)} (${percent(clients, clientCount)})`,
        `${number(denied)} (${percent(denied, requests)})`,
        number(deniedSucceeded),
      ]),
    );
    tableOf(
      by('peaks'),
      ['Window', 'p50', 'p90', 'p99', 'p99.9', 'Max'],
      report.peaks.map(({ window, p50, p90, p99, p999, max }) => [window, ...[p50, p90, p99, p999, max].map(number)]),
    );
  }
})();
