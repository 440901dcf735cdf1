// Whether a destination can be reached from this machine: its name, what the egress guard says of its addresses, the
// connection, and its certificate.

import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { checkEgress } from '../../../server/src/node/main.ts';
import type { Config } from '../../../server/src/node/settings/config.ts';
import type { Clock } from '../../../server/src/runtime/world.ts';
import { type Finding, finding } from './doctor-machine.ts';

const CONNECT_MS_MAX = 5000;

export async function checkDestination(config: Config, destination: string, clock: Clock): Promise<Finding[]> {
  if (!URL.canParse(destination)) return [finding('dns', 'wrong', `${destination} is not a URL`)];
  const { hostname, port: given, protocol } = new URL(destination);
  const port = given === '' ? (protocol === 'https:' ? 443 : 80) : Number(given);
  const host = hostname.replace(/^\[|\]$/g, '');
  let addresses: readonly string[];
  try {
    addresses = isIP(host) > 0 ? [host] : (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const todo =
      code === 'ENOTFOUND'
        ? 'Check the name, and which name servers this machine uses.'
        : 'The name servers do not respond. Check /etc/resolv.conf and the network.';
    return [finding('dns', 'wrong', `the name ${host} cannot be resolved (${code})`, todo)];
  }
  const dns = finding('dns', 'ok', `${host} is ${addresses.join(', ')}`);
  const refused = addresses.map((ip) => checkEgress(config, ip, port)).find((why) => why !== null) ?? null;
  if (refused !== null) {
    return [
      dns,
      finding(
        'egress',
        'wrong',
        `the egress guard refuses it: ${refused}`,
        'If deliveries to it are meant, allow its range with --allow-cidr.',
      ),
    ];
  }
  const failed = await tryConnect({ ip: addresses[0]!, host, port, isTls: protocol === 'https:' }, clock);
  if (failed === null)
    return [
      dns,
      finding(
        'egress',
        'ok',
        `${host}, port ${port} takes a connection${protocol === 'https:' ? ', and its certificate is good' : ''}`,
      ),
    ];
  return [
    dns,
    finding(
      'egress',
      'wrong',
      `${host}, port ${port} cannot be reached: ${failed}`,
      'Check the firewall of this machine and of its network, and the destination itself.',
    ),
  ];
}

interface Target {
  readonly ip: string;
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** Null when it worked. */
function tryConnect({ ip, host, port, isTls }: Target, clock: Clock): Promise<string | null> {
  return new Promise((resolve) => {
    let socket: Socket | null = null;
    const cancel = clock.after(CONNECT_MS_MAX, () => end(`no answer within ${CONNECT_MS_MAX / 1000} s`));
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
