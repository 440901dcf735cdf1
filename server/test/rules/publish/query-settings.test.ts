import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { separateSettings } from '../../../src/rules/publish/query-settings.ts';

const KNOWN: ReadonlySet<string> = new Set(['Retries', 'Retry-Delay', 'Callback', 'Forward-']);
function take(destination: string) {
  const { foreign, ...taken } = separateSettings(destination, 'Service-', KNOWN);
  assert.deepEqual(foreign, []);
  return taken;
}

test('own parameters are taken out and all else stays where it is', () => {
  const table: [string, string, [string, string][]][] = [
    ['https://a.b/?service-retries=3', 'https://a.b/', [['service-retries', '3']]],
    ['https://a.b?service-retries=3&x=1', 'https://a.b?x=1', [['service-retries', '3']]],
    ['https://a.b/?x=1&service-retries=3', 'https://a.b/?x=1', [['service-retries', '3']]],
    ['https://a.b/?x=%2f&service-retries=3&y=a+b&z', 'https://a.b/?x=%2f&y=a+b&z', [['service-retries', '3']]],
    ['https://a.b/?&&service-retries=3&&', 'https://a.b/?&&&', [['service-retries', '3']]],
    ['https://a.b/?service-retries=3&', 'https://a.b/?', [['service-retries', '3']]],
    ['topic?service-retries=3', 'topic', [['service-retries', '3']]],
    ['https://a.b/?service-retries', 'https://a.b/', [['service-retries', '']]],
    ['https://a.b/?service-retries=', 'https://a.b/', [['service-retries', '']]],
    [
      'https://a.b/?Service-Retries=3&SERVICE-RETRIES=4',
      'https://a.b/',
      [
        ['Service-Retries', '3'],
        ['SERVICE-RETRIES', '4'],
      ],
    ],
    [
      'https://a.b/?service-forward-X-Id=7&service-forward-=8',
      'https://a.b/',
      [
        ['service-forward-X-Id', '7'],
        ['service-forward-', '8'],
      ],
    ],
  ];
  for (const [given, destination, settings] of table) assert.deepEqual(take(given), { destination, settings }, given);
});

test('names and values are decoded once', () => {
  const table: [string, string, string][] = [
    ['service-callback=https%3A%2F%2Fc.d%2F%3Fe%3D%2526', 'service-callback', 'https://c.d/?e=%26'],
    ['service-retry-delay=1000+%2B+retried', 'service-retry-delay', '1000 + retried'],
    ['service-callback=https://c.d/?a=b=c', 'service-callback', 'https://c.d/?a=b=c'],
    ['%73ervice%2Dretries=3', 'service-retries', '3'],
    ['service-forward-x=%C3%A4', 'service-forward-x', 'ä'],
    ['service-forward-x=%zz+', 'service-forward-x', '%zz+'],
    ['service-forward-x=%E4', 'service-forward-x', '%E4'],
    ['service-forward-x=a%0D%0Ab', 'service-forward-x', 'a\r\nb'],
  ];
  for (const [parameter, name, value] of table) {
    assert.deepEqual(take(`https://a.b/?${parameter}`), { destination: 'https://a.b/', settings: [[name, value]] });
  }
});

test('a parameter that is not known stays', () => {
  const queries = [
    'service-retriesx=1',
    'service-unknown=1',
    'service-=1',
    'service',
    'retries=3',
    'xservice-retries=3',
  ];
  queries.push('service-forward=1', '%zz=1', 'x=service-retries%3D3', 'upstash-retried=3', 'service-retries%=3', '');
  for (const query of queries) {
    const destination = `https://a.b/?${query}`;
    assert.deepEqual(take(destination), { destination, settings: [] });
  }
});

test('text before the query is never changed', () => {
  const destination = 'https://a.b/service-retries=3&service-retries=4';
  assert.deepEqual(take(destination), { destination, settings: [] });
});

test('the prefix is the one in use', () => {
  assert.deepEqual(separateSettings('t?upstash-retries=1&service-retries=2', 'Upstash-', KNOWN), {
    destination: 't?service-retries=2',
    settings: [['upstash-retries', '1']],
    foreign: ['service-retries'],
  });
});

const piece = fc.string({ unit: fc.constantFrom(...'ab%2=+/?&-#ä') });
const ownNames = fc.constantFrom('service-retries', 'Service-Callback', 'service-forward-x');

test('a destination without own parameters comes back byte for byte', () => {
  fc.assert(
    fc.property(fc.oneof(piece, fc.string()), (destination) => {
      assert.deepEqual(take(destination), { destination, settings: [] });
    }),
    { numRuns: 1_000 },
  );
});

test('parameters put into a query come out again, and leave the query as it was', () => {
  const foreign = piece.filter((text) => !text.includes('&'));
  const parameter = fc.oneof(
    foreign.map((raw) => ({ raw, own: null })),
    fc.tuple(ownNames, fc.string({ unit: 'grapheme' })).map(([name, value]) => ({
      raw: `${name}=${encodeURIComponent(value)}`,
      own: [name, value] as const,
    })),
  );
  const path = piece.filter((text) => !text.includes('?'));
  fc.assert(
    fc.property(path, fc.array(parameter, { minLength: 1 }), (before, parameters) => {
      const left = parameters.filter(({ own }) => own === null).map(({ raw }) => raw);
      assert.deepEqual(take(`${before}?${parameters.map(({ raw }) => raw).join('&')}`), {
        destination: left.length === 0 ? before : `${before}?${left.join('&')}`,
        settings: parameters.flatMap(({ own }) => (own === null ? [] : [own])),
      });
    }),
    { numRuns: 1_000 },
  );
});
