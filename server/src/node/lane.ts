// The thread of a lane: the same engine and front as on the main thread, with a part of the limits. It writes and reads
// through ports to the threads of the store.

import { networkInterfaces } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { listenAddresses } from '../delivery/egress/egress.ts';
import { ApiError } from '../inbound/api/errors.ts';
import { setLanesOfNode } from '../runtime/lane-part.ts';
import { systemWorld } from '../runtime/world.ts';
import { buildEngine } from './build-engine.ts';
import { buildFront } from './build-front.ts';
import { closeStore, drain } from './close-node.ts';
import type { FromLane, LaneData, LaneStats, ToLane } from './lanes.ts';
import { createNodeBase } from './node-base.ts';
import { setAckAddress } from './own-url.ts';
import { ThreadRequests } from './thread-requests.ts';

/** How long to wait for the statistics of all lanes. The main thread waits up to a second, and may itself be busy. */
const ALL_FACTS_MS_MAX = 5000;

const port = parentPort!;
const say = (message: FromLane) => port.postMessage(message);

async function run(data: LaneData): Promise<void> {
  const { config, lanes, address } = data;
  setLanesOfNode(lanes);
  const base = await createNodeBase(config, { lane: data });
  process.on('uncaughtException', (error) => base.onFault(error));
  const { engine, policy } = buildEngine(base, undefined);
  const requests = new ThreadRequests<readonly LaneStats[]>(systemWorld().clock, ALL_FACTS_MS_MAX);
  const ownFacts = () => ({ attemptsInFlight: engine.attemptsInFlight, metrics: base.metrics.values() });
  const allLaneStats = async () => {
    const all = await requests.ask((id) => say({ kind: 'askAllFacts', id }));
    // Better no statistics than those of one lane: monitoring would take a counter that falls for a restart.
    if (!all) throw new ApiError('overloaded', 'metrics of some threads timed out; try again shortly');
    return all;
  };
  const front = await buildFront(base, engine, { allLaneStats });
  const bound = await front.listener.listen(address.host, address.port, 'shared');
  base.about.address = `${bound.address}:${bound.port}`;
  setAckAddress(base, bound);
  policy.own = listenAddresses({ ip: bound.address, port: bound.port }, networkInterfaces());
  engine.start();
  port.on('message', (message: ToLane) => {
    if (message.kind === 'askFacts') say({ kind: 'facts', id: message.id, facts: ownFacts() });
    else if (message.kind === 'allLaneStats') requests.answer(message.id, message.all);
    else {
      void drain(base, engine, front).then(async (left) => {
        say({ kind: 'closed', ended: { left, isStoreClosed: await closeStore(base), lanesLost: 0 } });
      });
    }
  });
  say({ kind: 'ready' });
}

run(workerData as LaneData).catch((error: Error) => say({ kind: 'cannotStart', problem: error.message }));
