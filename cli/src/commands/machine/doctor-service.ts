// Whether a service answers, what its token may do, and whether its clock agrees with the one of this machine.

import { VERSION } from '../../../../server/src/version.ts';
import type { Invocation } from '../../frame/command.ts';
import { type Connection, connectTo, findAddress } from '../../frame/connection.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure, failureOf } from '../../frame/failure.ts';
import { spanText, timeText } from '../../frame/time-text.ts';
import { type Finding, finding } from '../../service/doctor-machine.ts';

const CLOCKS_APART_MS_MAX = 5000;
/** No program of this version is older. */
const EARLIEST_AT = Date.UTC(2025, 0, 1);

/** Where no address is given, the service is the one that listens on this port. */
export async function checkService(
  invocation: Invocation,
  port: number,
): Promise<{ findings: Finding[]; port: number | null }> {
  const { io } = invocation;
  const clock = checkOwnClock(io.world.clock.machineNow());
  let where = { url: '', hasToken: false };
  try {
    const { client, url, hasToken } = connectOn(invocation, port);
    where = { url, hasToken };
    const account = await client.getAccount();
    const { version } = account.service;
    const service =
      version === VERSION
        ? finding('service', 'ok', `${url} answers, version ${version}`)
        : finding(
            'service',
            'warning',
            `${url} has version ${version}, this program ${VERSION}`,
            'Use the same version on both sides.',
          );
    const token = finding('token', 'ok', `${account.token.name}: ${account.token.scopes.join(', ')}`);
    const beforeMs = io.world.clock.machineNow();
    const { now } = await client.overview();
    const apartMs = now - (beforeMs + io.world.clock.machineNow()) / 2;
    return { findings: [clock ?? checkClocks(apartMs), service, token], port: portOf(url) };
  } catch (error) {
    const failure = failureOf(error, where) ?? (error instanceof Failure ? error : null);
    if (failure === null) throw error;
    const isAway = failure.exit === EXIT.unreachable;
    const answers = failure.exit === EXIT.denied ? portOf(where.url) : null;
    return {
      findings: [
        clock ?? finding('clock', 'ok', `this machine says ${timeText(io.world.clock.machineNow())}`),
        finding(isAway ? 'service' : 'token', isAway ? 'skipped' : 'wrong', failure.message, failure.hint ?? undefined),
      ],
      port: answers,
    };
  }
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
    `this machine says that it is ${timeText(now)}`,
    'Set its clock, and keep it right with NTP. Certificates fail until then.',
  );
}

function checkClocks(apartMs: number): Finding {
  const apart = spanText(Math.abs(apartMs));
  if (Math.abs(apartMs) <= CLOCKS_APART_MS_MAX)
    return finding('clock', 'ok', `the service and this machine agree to ${apart}`);
  return finding(
    'clock',
    'warning',
    `the service is ${apart} ${apartMs > 0 ? 'ahead of' : 'behind'} this machine`,
    'Keep the clocks of both right with NTP.',
  );
}

/** Only of an address of this machine. */
function portOf(url: string): number | null {
  if (!URL.canParse(url)) return null;
  const { hostname, port, protocol } = new URL(url);
  if (!/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)) return null;
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
