// The page of `sluice simulate --html`: everything is in the element #data, nothing is fetched.
'use strict';
(() => {
  const {
    text,
    requests,
    clients: clientCount,
    start,
    windows,
  } = JSON.parse(document.getElementById('data').textContent);
  const by = (id) => document.getElementById(id);
  const number = (value) => value.toLocaleString('en-US');
  const percent = (part, whole) => `${Number(((100 * part) / Math.max(whole, 1)).toPrecision(3))}%`;
  const prices = () => windows[by('window').value].prices;

  /** Chooses the smallest limit of the slider that is not below this one. */
  function choose(limit) {
    by('limit').max = prices().length - 1;
    by('limit').value = Math.max(
      prices().findIndex((price) => price.limit >= limit),
      0,
    );
    show();
  }

  function show() {
    const { limit, clients, denied, deniedSucceeded } = prices()[by('limit').value];
    const { window } = windows[by('window').value];
    by('limit-value').textContent = number(limit);
    by('limit').setAttribute('aria-valuetext', `${number(limit)} in ${window}`);
    by('clients').textContent = `${number(clients)} of ${number(clientCount)} (${percent(clients, clientCount)})`;
    by('requests').textContent = `${number(denied)} of ${number(requests)} (${percent(denied, requests)})`;
    by('succeeded').textContent = `${number(deniedSucceeded)} (${percent(deniedSucceeded, denied)})`;
    by('policy').textContent = `fixedWindow --limit ${limit} --window ${window}`;
  }

  by('report').textContent = text;
  if (requests === 0) return;
  for (const [i, { window }] of windows.entries()) {
    const option = document.createElement('option');
    option.value = i;
    option.textContent = `in ${window}`;
    by('window').append(option);
  }
  by('window').value = start.window;
  let chosen = start.limit;
  by('window').addEventListener('change', () => choose(chosen));
  by('limit').addEventListener('input', () => {
    chosen = prices()[by('limit').value].limit;
    show();
  });
  choose(chosen);
})();
