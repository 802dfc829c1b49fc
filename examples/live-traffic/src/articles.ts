export interface Article {
  readonly id: number;
  readonly title: string;
}

const SUBJECTS = ['Locks', 'Weirs', 'Canals', 'Floodgates', 'Mill races', 'Aqueducts', 'Tide tables'];
const PLACES = ['in winter', 'of the Fens', 'by hand', 'under load', 'after rain', 'and their keepers'];

export const PASSWORD = 'correct horse battery staple';

/** What the API is about: 42 articles, numbered from 1. */
export const articles: readonly Article[] = SUBJECTS.flatMap((subject) =>
  PLACES.map((place) => `${subject} ${place}`),
).map((title, i) => ({ id: i + 1, title }));
