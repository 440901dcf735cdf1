// From the headers of a publish to its settings: what each name means, what is forwarded, what is refused, what has no
// effect.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { HeaderList } from '../../../src/rules/delivery/message.ts';
import { meaningOf } from '../../../src/rules/publish/header-meaning.ts';
import {
  type HeaderRules,
  headerLimits,
  KNOWN_SETTINGS,
  type PublishSettings,
  parseDescent,
  parsePublishSettings,
  prefixedHeader,
  readRequest,
  scheduleOnlyProblem,
} from '../../../src/rules/publish/publish-settings.ts';

const RULES: HeaderRules = {
  headerPrefix: 'Service-',
  forwardHeadersMax: 3,
  forwardHeaderBytesMax: 60,
  hopsMax: 5,
};

function read(headers: HeaderList, rules = RULES): PublishSettings {
  const settings = parsePublishSettings(headers, rules);
  if ('problem' in settings) throw new Error(`${settings.problem.code} ${settings.problem.message}`);
  return settings;
}

function refusal(headers: HeaderList, rules = RULES): string {
  const settings = parsePublishSettings(headers, rules);
  return 'problem' in settings ? `${settings.problem.code} ${settings.problem.message}` : 'accepted';
}

suite('settings', () => {
  test('a publish without headers asks for nothing', () => {
    const { settings, ...rest } = read([]);
    assert.deepEqual(settings, {
      method: null,
      retries: null,
      retryDelay: null,
      retryJitter: null,
      delayMs: null,
      timeoutMs: null,
      forward: [],
    });
    const expected = {
      contentType: null,
      notBefore: null,
      callback: null,
      failureCallback: null,
      labels: [],
      flow: null,
      orderKey: null,
      deduplication: null,
      redaction: null,
      hops: 0,
      descendantsLeft: null,
      cron: null,
      unusedNames: [],
      unknownNames: [],
    };
    for (const [name, value] of Object.entries(expected))
      assert.deepEqual(rest[name as keyof typeof rest], value, name);
  });

  test('each has its header, in any case of letters, and blanks around the value do not count', () => {
    const { settings, ...rest } = read([
      ['service-METHOD', ' put '],
      ['Service-Retries', '2'],
      ['Service-Retry-Delay', '1000'],
      ['Service-Retry-Jitter', '20%'],
      ['Service-Delay', '90s'],
      ['Service-Timeout', '5s'],
      ['Content-Type', ' text/plain '],
      ['Service-Not-Before', '1790000000'],
      ['Service-Label', 'red, blue'],
      ['Service-Order-Key', 'k'],
      ['Service-Redact-Fields', 'body'],
      ['Service-Cron', '* * * * *'],
    ]);
    assert.deepEqual(settings, {
      method: 'PUT',
      retries: 2,
      retryDelay: '1000',
      retryJitter: 20,
      delayMs: 90_000,
      timeoutMs: 5000,
      forward: [],
    });
    assert.deepEqual(
      [rest.contentType, rest.notBefore, rest.labels, rest.orderKey, rest.cron],
      ['text/plain', 1_790_000_000_000, ['red', 'blue'], 'k', '* * * * *'],
    );
    assert.deepEqual(rest.redaction, { body: true, allHeaders: false, headers: [] });
    assert.deepEqual([rest.unusedNames, rest.unknownNames], [[], []]);
  });

  test('an empty header counts as absent', () => {
    assert.equal(read([['Service-Retries', ' ']]).settings.retries, null);
    assert.equal(read([['Service-Retries', '']]).settings.retries, null);
    assert.equal(
      read([
        ['Service-Retries', ''],
        ['Service-Retries', '4'],
      ]).settings.retries,
      4,
    );
  });

  test('a value that means nothing is refused with the name of its header', () => {
    assert.match(refusal([['service-retries', 'many']]), /^bad_header Service-Retries: must be a whole number/);
    assert.match(refusal([['Content-Type', 'a\nb']]), /^bad_header Content-Type: the value of/);
    assert.match(refusal([['Idempotency-Key', 'a:b']]), /^bad_header Idempotency-Key: must not contain ":"/);
  });

  test('a header that is given twice is refused, wherever the two stand', () => {
    const twice = (name: string, ...between: HeaderList) =>
      refusal([[name, '1'], ...between, [name.toLowerCase(), '1']]);
    assert.match(twice('Service-Retries'), /^bad_header Service-Retries: given 2 times; give it once/);
    assert.match(twice('Service-Retries', ['Service-Delay', '1'], ['Service-Timeout', '1']), /given 2 times/);
    assert.match(twice('Service-Retries', ['Service-Retries', '1']), /given 3 times/);
    assert.match(twice('Content-Type'), /^bad_header Content-Type: given 2 times/);
    assert.match(twice('Idempotency-Key'), /^bad_header Idempotency-Key: given 2 times/);
  });

  test('a value may have 16,384 characters', () => {
    const long = 'x'.repeat(16_384);
    assert.equal(read([['Service-Cron', long]]).cron, long);
    assert.match(
      refusal([['Service-Cron', `${long}x`]]),
      /^bad_header Service-Cron: has 16385 characters; the limit is 16384/,
    );
  });

  test('a workflow is refused, because nothing here would do its steps', () => {
    for (const name of [
      'Service-Workflow-Init',
      'Service-Forward-Service-Workflow-Id',
      'Service-Callback-Workflow-Url',
      'Service-Failure-Callback-Forward-Service-Workflow-Id',
    ]) {
      assert.match(refusal([[name, 'x']]), new RegExp(`^not_supported ${name}: workflows are not supported`), name);
    }
    for (const name of ['Service-Forward-Workflow-Id', 'Service-Forward-X-Workflow-Id', 'Workflow-Id']) {
      assert.equal(refusal([[name, 'x']]), 'accepted', name);
    }
  });

  test('of several mistakes, the first is told', () => {
    assert.match(
      refusal([
        ['Service-Callback', 'no'],
        ['Service-Retries', 'x'],
      ]),
      /Service-Retries/,
    );
  });
});

suite('callbacks', () => {
  test('have settings and forwarded headers of their own', () => {
    const { callback, failureCallback, unusedNames } = read([
      ['Service-Callback', 'https://c.example/'],
      ['Service-Callback-Method', 'PUT'],
      ['Service-Callback-Retries', '1'],
      ['Service-Callback-Forward-X-A', 'a'],
      ['Service-Failure-Callback', 'https://f.example/'],
      ['Service-Failure-Callback-Timeout', '3s'],
      ['Service-Failure-Callback-Forward-X-B', 'b'],
      ['Service-Forward-X-C', 'c'],
    ]);
    assert.equal(callback?.target.url, 'https://c.example/');
    assert.deepEqual(
      [callback?.settings.method, callback?.settings.retries, callback?.settings.forward],
      ['PUT', 1, [['X-A', 'a']]],
    );
    assert.equal(failureCallback?.target.url, 'https://f.example/');
    assert.deepEqual([failureCallback?.settings.timeoutMs, failureCallback?.settings.forward], [3000, [['X-B', 'b']]]);
    assert.deepEqual(unusedNames, []);
  });

  test('settings of a callback that was not asked for are named', () => {
    const headers: HeaderList = [
      ['Service-Callback-Method', 'PUT'],
      ['Service-Callback-Forward-X-A', 'a'],
      ['Service-Failure-Callback-Retries', '1'],
      ['Service-Failure-Callback-Forward-X-B', 'b'],
    ];
    assert.deepEqual(read(headers).unusedNames, [
      'Callback-Method',
      'Callback-Forward-x-a',
      'Failure-Callback-Retries',
      'Failure-Callback-Forward-x-b',
    ]);
    assert.deepEqual(read([...headers, ['Service-Callback', 'https://c.example/']]).unusedNames, [
      'Failure-Callback-Retries',
      'Failure-Callback-Forward-x-b',
    ]);
    assert.deepEqual(read([['Service-Callback-Forward-X-A', 'a']]).unusedNames, ['Callback-Forward-x-a']);
    assert.deepEqual(
      read([
        ['Service-Retries', '1'],
        ['Service-Callback-Retries', '1'],
      ]).unusedNames,
      ['Callback-Retries'],
    );
  });
});

suite('flow control', () => {
  test('needs its key and its value', () => {
    assert.deepEqual(
      read([
        ['Service-Flow-Control-Key', 'shop'],
        ['Service-Flow-Control-Value', 'rate=3'],
      ]).flow,
      { key: 'shop', limits: { parallelism: null, rate: 3, periodMs: 1000 } },
    );
    assert.match(
      refusal([['Service-Flow-Control-Key', 'shop']]),
      /^bad_header Service-Flow-Control-Value: missing; give Flow-Control-Key and Flow-Control-Value together/,
    );
    assert.match(refusal([['Service-Flow-Control-Value', 'rate=3']]), /^bad_header Service-Flow-Control-Key: missing/);
  });
});

suite('deduplication', () => {
  test('goes by the id, then by the Idempotency-Key, then by the content if that is asked for', () => {
    const id = ['Service-Deduplication-Id', 'one'] as const;
    const key = ['Idempotency-Key', 'two'] as const;
    const content = ['Service-Content-Based-Deduplication', 'true'] as const;
    assert.deepEqual(read([key, id, content]).deduplication, { id: 'one' });
    assert.deepEqual(read([content, key]).deduplication, { id: 'two' });
    assert.equal(read([content]).deduplication, 'byContent');
    assert.equal(read([['Service-Content-Based-Deduplication', 'false']]).deduplication, null);
  });
});

suite('forwarded headers', () => {
  const forward = (headers: HeaderList, rules = RULES) => read(headers, rules).settings.forward;

  test('keep their names, values and order', () => {
    assert.deepEqual(
      forward([
        ['Service-Forward-X-B', ' b '],
        ['SERVICE-FORWARD-x-a', 'a'],
        ['Service-Forward-X-B', 'c'],
      ]),
      [
        ['X-B', ' b '],
        ['x-a', 'a'],
        ['X-B', 'c'],
      ],
    );
  });

  test('are refused with the reason where they cannot be sent', () => {
    assert.match(
      refusal([['Service-Forward-Host', 'a']]),
      /^bad_forward_header Service-Forward-Host: "Host" cannot be/,
    );
    assert.match(
      refusal([['Service-Forward-', 'a']]),
      /^bad_forward_header Service-Forward-: the header to forward has no/,
    );
    assert.match(
      refusal([
        ['Service-Callback', 'https://c.example/'],
        ['Service-Callback-Forward-Te', 'a'],
      ]),
      /^bad_forward_header Service-Callback-Forward-Te: /,
    );
  });

  test('have a limit of their number and of their bytes', () => {
    assert.deepEqual(headerLimits(RULES), { countMax: 3, bytesMax: 60 });
    const many = (count: number): HeaderList =>
      Array.from({ length: count }, (_, at) => [`Service-Forward-X-${at}`, 'a']);
    assert.equal(forward(many(3)).length, 3);
    assert.match(refusal(many(4)), /^bad_forward_header Service-Forward-…: 4 headers to forward; the limit is 3/);
    assert.match(
      refusal([
        ['Service-Forward-X-A', 'x'.repeat(50)],
        ['Content-Type', 'text/plain'],
      ]),
      /^bad_forward_header the headers of the delivery have 75 bytes/,
    );
    const passedOn = Array.from({ length: 7 }, (_, at): [string, string] => [`X-${at}`, 'a']);
    assert.match(
      refusal([['Service-Header-Forward', 'true'], ...passedOn]),
      /^bad_forward_header the delivery would have 7 headers; the limit is 6/,
    );
    assert.match(refusal([['Content-Type', 'x'.repeat(61)]]), /^bad_forward_header the headers of the delivery/);
  });

  test('for the public clients, a header that we set ourselves is left out and not refused', () => {
    const upstash = { ...RULES, headerPrefix: 'Upstash-' };
    assert.deepEqual(
      forward(
        [
          ['Upstash-Forward-Host', 'a'],
          ['Upstash-Forward-X-A', 'a'],
          ['Upstash-Forward-Upstash-Topic', 'a'],
        ],
        upstash,
      ),
      [['X-A', 'a']],
    );
    assert.match(refusal([['Upstash-Forward-X A', 'a']], upstash), /^bad_forward_header/);
    assert.match(refusal([['Service-Forward-Service-Topic', 'a']]), /^bad_forward_header/);
  });

  test('trace headers go on without being asked for, unless they are forwarded by name', () => {
    assert.deepEqual(
      forward([
        ['Traceparent', '00-1'],
        ['tracestate', 'a=b'],
        ['X-Other', 'c'],
      ]),
      [
        ['Traceparent', '00-1'],
        ['tracestate', 'a=b'],
      ],
    );
    assert.deepEqual(
      forward([
        ['traceparent', '00-1'],
        ['Service-Forward-TraceParent', '00-2'],
      ]),
      [['TraceParent', '00-2']],
    );
    assert.deepEqual(forward([['traceparent', ' ']]), []);
    assert.deepEqual(forward([['traceparent', 'a\x01b']]), [], 'one that cannot be sent is left out');
  });

  test('Header-Forward forwards what may be forwarded, and neither secrets nor what frames this request', () => {
    const rules = { ...RULES, forwardHeadersMax: 9, forwardHeaderBytesMax: 1000 };
    const headers: HeaderList = [
      ['Service-Header-Forward', 'true'],
      ['Service-Forward-X-Named', 'by name'],
      ['X-Named', 'as it came'],
      ['X-A', 'a'],
      ['X-Empty', ' '],
      ['Authorization', 'Bearer x'],
      ['Cookie', 'x'],
      ['Content-Type', 'text/plain'],
      ['Content-Encoding', 'gzip'],
      ['Idempotency-Key', 'x'],
      ['Host', 'x'],
      ['traceparent', '00-1'],
    ];
    assert.deepEqual(forward(headers, rules), [
      ['X-Named', 'by name'],
      ['X-A', 'a'],
      ['traceparent', '00-1'],
    ]);
    assert.deepEqual(
      forward([
        ['Service-Header-Forward', 'false'],
        ['X-A', 'a'],
      ]),
      [],
    );
    assert.deepEqual(forward([['Service-Header-Forward', 'true']]), []);
  });
});

suite('headers without an effect', () => {
  const unknown = (headers: HeaderList) => read(headers).unknownNames;

  test('with our prefix are named without it, those of families are known', () => {
    assert.deepEqual(
      unknown([
        ['Service-Dellay', '1'],
        ['Service-Delayed', '1'],
        ['Service-Forward-X', '1'],
        ['Service-Callback-Forward-X', '1'],
        ['X-Other', '1'],
      ]),
      ['Dellay', 'Delayed'],
    );
    assert.ok(KNOWN_SETTINGS.has('callback-forward-'));
  });

  test('with the prefix of another service are named whole, unless all headers are forwarded', () => {
    assert.deepEqual(unknown([['Upstash-Delay', '1']]), ['Upstash-Delay']);
    assert.deepEqual(
      unknown([
        ['Upstash-Delay', '1'],
        ['Service-Dellay', '1'],
      ]),
      ['Dellay', 'Upstash-Delay'],
    );
    assert.deepEqual(
      unknown([
        ['Upstash-Delay', '1'],
        ['Service-Header-Forward', 'true'],
      ]),
      [],
    );
    assert.deepEqual(
      unknown([
        ['Upstash-Delay', '1'],
        ['Service-Header-Forward', 'false'],
      ]),
      ['Upstash-Delay'],
    );
    assert.deepEqual(unknown([['Upstash-Nonsense', '1']]), []);
  });
});

suite('a request that comes from one of our deliveries', () => {
  test('says how often it has passed, in our header or in one that a receiver hands on; the stricter counts', () => {
    const upstash = { ...RULES, headerPrefix: 'Upstash-' };
    const own: HeaderList = [
      ['Upstash-Hops', '2'],
      ['Upstash-Descendants-Left', '7'],
    ];
    const descendantsOfRequest: HeaderList = [
      ['Upstash-Forward-Upstash-Hops', ' 3 '],
      ['Upstash-Forward-Upstash-Descendants-Left', '5'],
      ['upstash-forward-upstash-descendants-left', '6'],
    ];
    const descent = (headers: HeaderList) => {
      const { hops, descendantsLeft } = read(headers, upstash);
      return [hops, descendantsLeft];
    };
    assert.deepEqual(descent(own), [2, 7]);
    assert.deepEqual(descent([['Upstash-Forward-X-A', 'a']]), [0, null]);
    assert.deepEqual(descent([...own, ...descendantsOfRequest]), [3, 5]);
    assert.deepEqual(descent(descendantsOfRequest), [3, 5]);
  });

  test('is refused when it has passed too often', () => {
    assert.equal(read([['Service-Hops', '5']]).hops, 5);
    assert.match(
      refusal([['Service-Hops', '6']]),
      /^loop_detected loop: this message came back to the service 6 times/,
    );
  });

  test('can only tighten the limits of its origin', () => {
    const origin = (hops: number, left: number | null) => ({
      queueName: 'q',
      body: new Uint8Array(1),
      callerIp: 'ip',
      scheduleId: 's',
      descent: { hops, left },
    });
    const from = (hops: number, left: number | null) => {
      const request = readRequest(
        null,
        [
          ['Service-Hops', '2'],
          ['Service-Descendants-Left', '7'],
        ],
        origin(hops, left),
        RULES,
      );
      assert.ok(!('problem' in request));
      assert.deepEqual(
        [request.queueName, request.body.length, request.callerIp, request.scheduleId],
        ['q', 1, 'ip', 's'],
      );
      return [request.hops, request.descendantsLeft];
    };
    assert.deepEqual(from(1, 9), [2, 7]);
    assert.deepEqual(from(3, 4), [3, 4]);
    assert.deepEqual(from(0, null), [2, 7]);
  });

  test('is known by these headers alone, before anything else is read', () => {
    assert.deepEqual(
      parseDescent(
        [
          ['X-A', 'a'],
          ['Service-Retries', 'wrong'],
        ],
        RULES,
      ),
      { hops: 0, left: null },
    );
    assert.deepEqual(
      parseDescent(
        [
          ['service-hops', '2'],
          ['Service-Retries', 'wrong'],
        ],
        RULES,
      ),
      { hops: 2, left: null },
    );
    assert.deepEqual(
      parseDescent(
        [
          ['Service-Hops', '2'],
          ['Service-Forward-Service-Hops', ' 4 '],
          ['service-forward-service-hops', '3'],
          ['Service-Descendants-Left', '7'],
          ['Service-Forward-Service-Descendants-Left', '5'],
          ['Service-Forward-Service-Descendants-Left', '6'],
        ],
        RULES,
      ),
      { hops: 4, left: 5 },
    );
    assert.deepEqual(parseDescent([['Service-Forward-Service-Descendants-Left', '6']], RULES), { hops: 0, left: 6 });
    const refused = (headers: HeaderList) => {
      const read = parseDescent(headers, RULES);
      return 'problem' in read ? read.problem.message : 'accepted';
    };
    assert.match(refused([['Service-Hops', 'x']]), /^Service-Hops: must be a whole number/);
    assert.match(refused([['service-forward-service-hops', 'x']]), /^service-forward-service-hops: must be a whole/);
    assert.match(refused([['Service-Forward-Service-Hops', '6']]), /^loop/);
  });
});

test('a single header is found by its name, unless it is empty', () => {
  const headers: HeaderList = [
    ['Service-Cron', ' '],
    ['SERVICE-CRON', ' 1 2 '],
    ['Cron', '3'],
  ];
  assert.equal(prefixedHeader(headers, 'Cron', 'Service-'), '1 2');
  assert.equal(prefixedHeader(headers, 'Schedule-Id', 'Service-'), null);
});

test('a cron, an overlap and a jitter are for a schedule only', () => {
  assert.equal(scheduleOnlyProblem(read([]), RULES), null);
  for (const [name, value] of [
    ['Service-Cron', '* * * * *'],
    ['Service-Schedule-Overlap', 'allow'],
    ['Service-Schedule-Jitter', '0'],
  ] as const) {
    const text = scheduleOnlyProblem(read([[name, value]]), RULES)?.problem.message ?? '';
    assert.ok(text.startsWith(`${name}: only for a schedule`), text);
  }
});

test('an overlap is allow or skip, and a jitter a duration of at most a day', () => {
  const asked = (name: string, value: string) => {
    const { overlap, jitterMs } = read([[name, value]]);
    return overlap ?? jitterMs;
  };
  assert.deepEqual(
    [
      asked('Service-Schedule-Overlap', 'SKIP'),
      asked('Service-Schedule-Overlap', 'allow'),
      asked('Service-Schedule-Jitter', '1.5s'),
      asked('Service-Schedule-Jitter', '1d'),
    ],
    ['skip', 'allow', 1500, 86_400_000],
  );
});

suite('what a name means', () => {
  test('is the same however often it is asked, and depends on the prefix', () => {
    for (const _ of [1, 2]) {
      assert.equal(meaningOf('Service-Delay', 'Service-').storedAs, 'Delay');
      assert.equal(meaningOf('Service-Delay', 'Other-').storedAs, null);
      assert.equal(meaningOf('Service-Delay', 'Other-').isForeign, true);
      assert.equal(meaningOf('Other-Delay', 'Other-').storedAs, 'Delay');
      assert.equal(meaningOf('Delay', 'Service-').storedAs, null);
    }
    assert.deepEqual(meaningOf('Service-Forward-X', 'Service-'), {
      storedAs: null,
      isTrace: false,
      otherName: 'forward-x',
      isForeign: false,
    });
    assert.deepEqual(meaningOf('traceparent', 'Service-'), {
      storedAs: null,
      isTrace: true,
      otherName: null,
      isForeign: false,
    });
    assert.equal(meaningOf('Service-Delay', 'Service-').otherName, null);
    assert.equal(meaningOf('Service-Hops', 'Service-').storedAs, 'Hops');
  });

  test('is kept for names that come again, but not for long ones, nor for more than a thousand', () => {
    const kept = (name: string) => {
      const first = meaningOf(name, 'Service-');
      return meaningOf(name, 'Service-') === first;
    };
    meaningOf('x', 'Another-');
    assert.equal(kept('x'.repeat(64)), true);
    assert.equal(kept('x'.repeat(65)), false);
    const first = meaningOf('first', 'Service-');
    // With those two, a thousand.
    for (let count = 0; count < 998; count += 1) meaningOf(`x-${count}`, 'Service-');
    assert.notEqual(meaningOf('first', 'Service-'), first);
    const again = meaningOf('first', 'Service-');
    for (let count = 0; count < 998; count += 1) meaningOf(`x-${count}`, 'Service-');
    assert.equal(meaningOf('first', 'Service-'), again);
  });
});
