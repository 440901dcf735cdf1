// The use of a pool as /metrics shows it.

import type { Rider } from '../../support/harness.ts';

export async function poolUsed(rider: Rider, name: string): Promise<number> {
  const { text } = await rider.call('GET', '/metrics');
  const found = new RegExp(`^postrider_pool_used\\{pool="${name}"\\} (\\d+)$`, 'm').exec(text);
  if (found === null) throw new Error(`/metrics shows no pool "${name}"`);
  return Number(found[1]);
}
