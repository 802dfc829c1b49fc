import { newOrders } from '../../../limits.ts';

export function GET(): Response {
  return Response.json([]);
}

/** `newOrders.handle` passes on both arguments of a route handler. */
export const POST = newOrders.handle(async (request: Request): Promise<Response> => {
  const order = (await request.json()) as object;
  return Response.json({ ...order, left: request.rateLimit?.decision.remaining }, { status: 201 });
});
