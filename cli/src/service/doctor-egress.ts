// Checks whether a destination can be reached from this machine: its name, whether the egress guard allows its
// addresses, the connection, and its certificate.

import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { whyEgressRefused } from '../../../server/src/node/main.ts';
import type { Config } from '../../../server/src/node/settings/config.ts';
import type { Clock } from '../../../server/src/runtime/world.ts';
import { type Finding, finding } from './doctor-machine.ts';

const CONNECT_MS_MAX = 5000;

export async function checkDestination(config: Config, destination: string, clock: Clock): Promise<Finding[]> {
  if (!URL.canParse(destination)) return [finding('dns', 'wrong', `${destination} is not a URL`)];
  const { hostname, port: given, protocol } = new URL(destination);
  const isTls = protocol === 'https:';
  const port = given === '' ? (isTls ? 443 : 80) : Number(given);
  const host = hostname.replace(/^\[|\]$/g, '');
  let addresses: readonly string[];
  try {
    addresses = isIP(host) > 0 ? [host] : (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (error) {
    return [unresolved(host, error as NodeJS.ErrnoException)];
  }
  const dns = finding('dns', 'ok', `${host} is ${addresses.join(', ')}`);
  const refused = addresses.map((ip) => whyEgressRefused(config, ip, port)).find((why) => why !== null) ?? null;
  if (refused !== null) {
    const todo = 'To allow deliveries to it, add its range with --allow-cidr.';
    return [dns, finding('egress', 'wrong', `the egress guard refuses it: ${refused}`, todo)];
  }
  return [dns, await checkConnection({ ip: addresses[0]!, host, port, isTls }, clock)];
}

function unresolved(host: string, { code }: NodeJS.ErrnoException): Finding {
  const todo =
    code === 'ENOTFOUND'
      ? 'Check the name, and which name servers this machine uses.'
      : 'The name servers do not respond. Check /etc/resolv.conf and the network.';
  return finding('dns', 'wrong', `the name ${host} cannot be resolved (${code})`, todo);
}

async function checkConnection(target: Target, clock: Clock): Promise<Finding> {
  const failed = await tryConnect(target, clock);
  const place = `${target.host}, port ${target.port}`;
  if (failed === null) {
    const more = target.isTls ? ', and its certificate is valid' : '';
    return finding('egress', 'ok', `${place} accepts a connection${more}`);
  }
  const todo = 'Check the firewall of this machine and of its network, and the destination itself.';
  return finding('egress', 'wrong', `${place} cannot be reached: ${failed}`, todo);
}

interface Target {
  readonly ip: string;
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** Why the connection failed. Null when it worked. */
function tryConnect({ ip, host, port, isTls }: Target, clock: Clock): Promise<string | null> {
  return new Promise((resolve) => {
    let socket: Socket | null = null;
    const cancel = clock.after(CONNECT_MS_MAX, () => end(`no response within ${CONNECT_MS_MAX / 1000} s`));
    const end = (why: string | null) => {
      cancel();
      socket?.destroy();
      resolve(why);
    };
    const servername = isIP(host) > 0 ? {} : { servername: host };
    socket = isTls
      ? connectTls({ host: ip, port, ...servername }, () => end(null))
      : connectTcp({ host: ip, port }, () => end(null));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      end(error.code ? `${error.message} (${error.code})` : error.message),
    );
  });
}
