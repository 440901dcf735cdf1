// What a receiver does with one request, chosen by a seed: which response it sends, in which pieces, where it breaks off and how, and
// what it does to the connection afterwards. It also says which verdicts of a client are right.

import { Chance } from '../../simulation/chance.ts';

export type Breaking = 'end' | 'destroy' | 'reset' | 'hang';

/** When something follows: in the same write, after so many turns of the event loop, or after so many milliseconds. */
export type When = { readonly kind: 'at once' } | { readonly kind: 'turns' | 'ms'; readonly count: number };

export interface Plan {
  readonly id: string;
  readonly requestBytes: number;
  /** Whether it answers with the first bytes of the request, before it has the others. */
  readonly isEarly: boolean;
  readonly status: number;
  readonly framing: 'length' | 'chunked' | 'close';
  /** Interim responses, then the response. */
  readonly bytes: Buffer;
  /** Where `bytes` is cut into pieces, in ascending order. */
  readonly cuts: readonly number[];
  readonly pause: When;
  /** After how many of the bytes it breaks off. */
  readonly breakAt: number | null;
  readonly breaking: Breaking;
  /** Bytes that no request asked for, behind the response. */
  readonly extra: { readonly bytes: Buffer; readonly when: When } | null;
  readonly afterwards: { readonly how: 'end' | 'destroy' | 'reset'; readonly when: When } | null;
  /** What a client may make of it. */
  readonly verdicts: readonly string[];
  /** What undici may make of it besides. */
  readonly undiciVerdict: string | null;
  /** It ends with its deadline only. */
  readonly hangs: boolean;
}

const CRLF = '\r\n';

export function verdictOf(status: number, body: string): string {
  return `${status} ${body.length}:${body.slice(0, 12)}`;
}

/** The same for every client that is tried. An orderly receiver breaks no rule of HTTP. */
export function planOf(seed: number, number: number, isOrderly: boolean): Plan {
  const chance = new Chance((seed * 10_007 + number) % 2 ** 31);
  const id = `request-${number}`;
  const letters = (count: number) => Array.from({ length: count }, () => chance.pick([...'abcdefghij'])).join('');
  const when = (): When =>
    chance.pick<When>([
      { kind: 'at once' },
      { kind: 'turns', count: 1 },
      { kind: 'turns', count: 2 },
      { kind: 'ms', count: chance.between(1, 2) },
    ]);

  const framing = chance.pick(['length', 'length', 'length', 'chunked', 'chunked', 'close'] as const);
  const status = chance.pick([200, 200, 200, 201, 404, 500]);
  const body = letters(chance.pick([0, 2, 30, 900, 5_000]));
  const isLie = !isOrderly && framing === 'length' && chance.isTrue(12);
  const lengthOff = isLie ? chance.pick([-Math.min(3, body.length), 4]) : 0;
  const isLarge = chance.isTrue(6);
  const isEarly = isLarge && chance.isTrue(50);
  const saysClose = framing === 'close' || chance.isTrue(10);

  const interims = Array.from({ length: chance.pick([0, 0, 0, 1, 2]) }, () =>
    chance.pick(['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n']),
  ).join('');
  const headers = [`HTTP/1.1 ${status} Words`, `X-Id: ${id}`];
  if (saysClose) headers.push('Connection: close');
  if (framing === 'length') headers.push(`Content-Length: ${body.length + lengthOff}`);
  if (framing === 'chunked') headers.push('Transfer-Encoding: chunked');
  const head = `${interims}${headers.join(CRLF)}${CRLF}${CRLF}`;
  const bytes = Buffer.from(head + (framing === 'chunked' ? chunked(body, chance) : body), 'latin1');

  const isBroken = !isOrderly && chance.isTrue(25);
  const breakAt = isBroken ? chance.between(0, bytes.length - 1) : null;
  const breaking = chance.pick<Breaking>(['end', 'destroy', 'reset', 'hang']);
  const hasExtra = !isOrderly && !isBroken && framing !== 'close' && lengthOff <= 0 && chance.isTrue(15);
  const planted = Buffer.from(
    chance.pick([
      'HTTP/1.1 200 Planted\r\nX-Id: planted\r\nContent-Length: 7\r\n\r\nplanted',
      'HTTP/1.1 204 Planted\r\nX-Id: planted\r\n\r\n',
      'x',
      '\r\n',
      'HTTP/1.1 20',
    ]),
  );
  const extra = hasExtra ? { bytes: planted, when: when() } : null;
  const closes = framing === 'close' || (!isOrderly && !isBroken && chance.isTrue(20));
  const how = framing === 'close' ? ('end' as const) : chance.pick(['end', 'destroy', 'reset'] as const);
  const afterwards = closes && breakAt === null ? { how, when: when() } : null;
  const cuts = Array.from({ length: chance.pick([0, 0, 1, 3, 8]) }, () => chance.between(1, bytes.length - 1)).sort(
    (a, b) => a - b,
  );
  const facts = { status, framing, body, bodyAt: head.length, lengthOff, breakAt, breaking, isLarge, afterwards };
  return {
    id,
    requestBytes: isLarge ? chance.between(17_000, 400_000) : chance.between(0, 3_000),
    isEarly,
    status,
    framing,
    bytes,
    cuts,
    pause: when(),
    breakAt,
    breaking,
    extra,
    afterwards,
    undiciVerdict: undiciVerdict(facts),
    ...expected(facts),
  };
}

function chunked(body: string, chance: Chance): string {
  let text = '';
  for (let at = 0; at < body.length; ) {
    const size = chance.between(1, Math.max(1, Math.min(2_000, body.length - at)));
    text += `${size.toString(16)}${chance.pick(['', ';a=b', ';c="d"'])}${CRLF}${body.slice(at, at + size)}${CRLF}`;
    at += size;
  }
  return `${text}0${CRLF}${chance.pick(['', 'X-Trailer: 1\r\n'])}${CRLF}`;
}

interface Facts {
  readonly status: number;
  readonly framing: Plan['framing'];
  readonly body: string;
  readonly bodyAt: number;
  readonly lengthOff: number;
  readonly breakAt: number | null;
  readonly breaking: Breaking;
  readonly isLarge: boolean;
  readonly afterwards: Plan['afterwards'];
}

/** A reset is no proper end of a response that ends with its connection: we do not take it for whole. undici does. */
function undiciVerdict({ status, framing, body, bodyAt, breakAt, breaking }: Facts): string | null {
  if (framing !== 'close' || breaking !== 'reset' || breakAt === null || breakAt < bodyAt) return null;
  return verdictOf(status, body.slice(0, breakAt - bodyAt));
}

function expected(facts: Facts): Pick<Plan, 'verdicts' | 'hangs'> {
  const { status, framing, body, bodyAt, lengthOff, breakAt, breaking, isLarge, afterwards } = facts;
  const whole = verdictOf(status, lengthOff < 0 ? body.slice(0, lengthOff) : body);
  const isOff = (how: string) => how === 'reset' || isLarge;
  if (breakAt !== null) {
    const isWhole = lengthOff < 0 && breakAt >= bodyAt + body.length + lengthOff;
    const verdicts: string[] = [];
    if (isWhole) verdicts.push(whole);
    if (!isWhole || (breaking !== 'hang' && isOff(breaking))) {
      verdicts.push(breaking === 'hang' ? 'timedOut' : 'unreachable');
    }
    // The end of the connection is the end of such a response.
    if (framing === 'close' && breakAt >= bodyAt && (breaking === 'end' || breaking === 'destroy')) {
      verdicts.unshift(verdictOf(status, body.slice(0, breakAt - bodyAt)));
      if (!isLarge) verdicts.length = 1;
    }
    return { verdicts, hangs: !isWhole && breaking === 'hang' };
  }
  // The rest of the body never comes.
  if (lengthOff > 0) {
    if (afterwards === null) return { verdicts: ['timedOut'], hangs: true };
    return { verdicts: ['unreachable'], hangs: false };
  }
  // A reset may overtake the response, and so may a close while the request is still being read.
  const isAtRisk = afterwards !== null && isOff(afterwards.how);
  return { verdicts: isAtRisk ? [whole, 'unreachable'] : [whole], hangs: false };
}
