/** How often each customer asks. */
const PER_SECOND = { acme: 10, globex: 1, initech: 1 };

/** Asks as customers do, and prints once a second what each of them got. Returns what stops it. */
export function startCustomers(url: string, print: (line: string) => void): () => Promise<void> {
  const counts = new Map(Object.keys(PER_SECOND).map((name) => [name, { allowed: 0, denied: 0 }]));
  const running = new Set<Promise<void>>();
  const ask = async (name: string): Promise<void> => {
    const response = await fetch(`${url}/orders`, { headers: { 'x-customer': name } });
    await response.arrayBuffer();
    const of = counts.get(name);
    if (of !== undefined) of[response.status === 429 ? 'denied' : 'allowed']++;
  };
  const timers = Object.entries(PER_SECOND).map(([name, rate]) =>
    setInterval(() => {
      const asked = ask(name).catch(() => undefined); // the API ends
      running.add(asked);
      void asked.then(() => running.delete(asked));
    }, 1000 / rate),
  );
  const printing = setInterval(() => {
    print(
      [...counts]
        .map(([name, { allowed, denied }]) => `${name} ${String(allowed)} allowed, ${String(denied)} denied`)
        .join('; '),
    );
    for (const of of counts.values()) of.allowed = of.denied = 0;
  }, 1000);
  return async () => {
    for (const timer of [...timers, printing]) clearInterval(timer);
    await Promise.all(running);
  };
}
