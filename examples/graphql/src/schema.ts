import { buildSchema, type GraphQLSchema } from 'graphql';

/** A list costs its length times what one of its entries costs. */
const perEntry = ({ args, childComplexity }: { args: { first: number }; childComplexity: number }): number =>
  1 + args.first * childComplexity;

/** The schema of a shop, with the costs of its lists in its extensions. */
export function shopSchema(): GraphQLSchema {
  const schema = buildSchema(`
    type Query { hello: String!, orders(first: Int!): [Order!]! }
    type Order { id: ID!, items(first: Int!): [Item!]! }
    type Item { name: String! }
  `);
  for (const [type, field] of [
    ['Query', 'orders'],
    ['Order', 'items'],
  ] as const) {
    const found = schema.getType(type);
    if (found !== undefined && 'getFields' in found) {
      const definition = found.getFields()[field];
      if (definition !== undefined) definition.extensions = { complexity: perEntry };
    }
  }
  return schema;
}

interface Order {
  readonly id: number;
  readonly items: (args: { readonly first: number }) => readonly { readonly name: string }[];
}

/** The data of the shop. */
export const rootValue: {
  readonly hello: string;
  readonly orders: (args: { readonly first: number }) => readonly Order[];
} = {
  hello: 'world',
  orders: ({ first }) =>
    Array.from({ length: first }, (_order, id) => ({
      id,
      items: ({ first: most }) => Array.from({ length: most }, (_item, i) => ({ name: `item ${String(i)}` })),
    })),
};
