// Checks whether a service responds, what its token may do, and whether its clock agrees with this machine's.

import { VERSION } from '../../../../server/src/shipped-files.ts';
import type { Invocation } from '../../frame/command.ts';
import { type Connection, connectTo, findAddress } from '../../frame/connection.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { type Failure, failureOf } from '../../frame/failure.ts';
import { spanText, timeText } from '../../frame/time-text.ts';
import { type Finding, finding } from '../../service/doctor-machine.ts';

const CLOCKS_APART_MS_MAX = 5000;
/** A clock that shows an earlier time is wrong: this version of the program did not exist then. */
const EARLIEST_AT = Date.UTC(2025, 0, 1);

/** Checks the service that the flags, the environment or the config file name, else the one on this port. */
export async function checkService(
  invocation: Invocation,
  port: number,
): Promise<{ findings: Finding[]; port: number | null }> {
  const { clock } = invocation.io.world;
  const ownClock = checkOwnClock(clock.machineNow());
  let where = { url: '', hasToken: false };
  try {
    const { client, url, hasToken } = connectOn(invocation, port);
    where = { url, hasToken };
    const { service, token } = await client.getAccount();
    const found = [
      checkVersion(url, service.version),
      finding('token', 'ok', `${token.name}: ${token.scopes.join(', ')}`),
    ];
    const beforeMs = clock.machineNow();
    const { now } = await client.overview();
    const apartMs = now - (beforeMs + clock.machineNow()) / 2;
    return { findings: [ownClock ?? checkClocks(apartMs), ...found], port: portOf(url) };
  } catch (error) {
    const failure = failureOf(error, where);
    if (failure === null) throw error;
    const time = ownClock ?? finding('clock', 'ok', `the clock of this machine shows ${timeText(clock.machineNow())}`);
    return {
      findings: [time, failedCall(failure)],
      port: failure.exit === EXIT.denied ? portOf(where.url) : null,
    };
  }
}

function checkVersion(url: string, version: string): Finding {
  if (version === VERSION) return finding('service', 'ok', `${url} responds, version ${version}`);
  const says = `${url} has version ${version}, this program ${VERSION}`;
  return finding('service', 'warning', says, 'Use the same version on both sides.');
}

function failedCall({ exit, message, hint }: Failure): Finding {
  const isAway = exit === EXIT.unreachable;
  return finding(isAway ? 'service' : 'token', isAway ? 'skipped' : 'wrong', message, hint ?? undefined);
}

function connectOn({ given, io, out, connect }: Invocation, port: number): Connection {
  if (findAddress(given, io).url.source !== 'default') return connect();
  return connectTo(given, { ...io, env: { ...io.env, POSTRIDER_URL: `http://127.0.0.1:${port}` } }, out);
}

function checkOwnClock(now: number): Finding | null {
  if (now >= EARLIEST_AT) return null;
  return finding(
    'clock',
    'wrong',
    `the clock of this machine shows ${timeText(now)}`,
    'Set the clock, and keep it correct with NTP. Until then, certificates fail.',
  );
}

function checkClocks(apartMs: number): Finding {
  const apart = spanText(Math.abs(apartMs));
  if (Math.abs(apartMs) <= CLOCKS_APART_MS_MAX)
    return finding('clock', 'ok', `the clocks of the service and this machine differ by ${apart}`);
  return finding(
    'clock',
    'warning',
    `the clock of the service is ${apart} ${apartMs > 0 ? 'ahead of' : 'behind'} this machine`,
    'Keep both clocks correct with NTP.',
  );
}

/** The port of an address on this machine. Null for any other address. */
function portOf(url: string): number | null {
  if (!URL.canParse(url)) return null;
  const { hostname, port, protocol } = new URL(url);
  if (!/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)) return null;
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
