// The kinds of values a setting can have: how each is read from text and how it is shown. The settings themselves are
// in config.ts.

import { SCOPES, type Scope } from '../../rules/accounts/account.ts';
import { TOKEN_LIFE_MS_MAX } from '../../rules/accounts/token-limits.ts';
import { formatByteSize, parseByteSize } from '../../rules/limits/byte-size.ts';
import { DEFAULT_TIERS, type Tiers, tiersWith } from '../../rules/limits/tier.ts';
import { parseDatabaseUrl } from '../../rules/nodes/database-url.ts';
import { isName, NAME_RULE } from '../../rules/requests/name.ts';
import { formatDurationMs, parseDurationMs } from '../../rules/time/duration.ts';
import { wrongRange } from '../../runtime/address-ranges.ts';

/** `rule` says what the whole text must be. `problems` names the parts of it that are wrong. */
type Parsed<T> = { readonly value: T } | { readonly rule: string } | { readonly problems: readonly string[] };

/** A kind of value: how it is read from text, and how it is shown. */
export interface Kind<T> {
  /** The placeholder for the value in `--help`. Null for a switch, which needs none. */
  readonly placeholder: string | null;
  /** Whether the flag may be repeated. Its values are then joined with commas. */
  readonly isList: boolean;
  parse(text: string): Parsed<T>;
  show(value: T): string;
}

const DAY_MS = 86_400_000;

export function integer(min: number, max: number): Kind<number> {
  return {
    placeholder: '<number>',
    isList: false,
    parse(text) {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? { value } : { rule: `must be a whole number from ${min} to ${max}` };
    },
    show: String,
  };
}

/** An integer, or null for no limit. */
export function integerOrNone(min: number, max: number): Kind<number | null> {
  const { parse } = integer(min, max);
  return {
    placeholder: '<number>',
    isList: false,
    parse(text) {
      if (text === 'none') return { value: null };
      const parsed = parse(text);
      return 'rule' in parsed ? { rule: `${parsed.rule}, or none` } : parsed;
    },
    show: (value) => (value === null ? 'none' : String(value)),
  };
}

/** A share of a whole, as a percentage or as a number from 0 to 1. The value is the number. */
export const share: Kind<number> = {
  placeholder: '<share>',
  isList: false,
  parse(text) {
    const [, number, isPercent] = /^(\d{1,3}(?:\.\d{1,6})?|\.\d{1,6})(%?)$/.exec(text) ?? [];
    const value = Number(number) / (isPercent === '%' ? 100 : 1);
    return value <= 1 ? { value } : { rule: 'must be a percentage such as 1%, or a number from 0 to 1 such as 0.01' };
  },
  show: (value) => `${Number((value * 100).toFixed(6))}%`,
};

export const port: Kind<number> = {
  ...integer(0, 65_535),
  parse(text) {
    // Kubernetes puts POSTRIDER_PORT=tcp://… into every container beside a Service named postrider.
    if (text.startsWith('tcp://')) {
      const cause = `"${text}" comes from a Kubernetes service link; set enableServiceLinks: false or use the flag`;
      return { problems: [cause] };
    }
    return integer(0, 65_535).parse(text);
  },
};

export function bytes(min: number, max: number): Kind<number> {
  const range = `${formatByteSize(min)} to ${formatByteSize(max)}`;
  return {
    placeholder: '<size>',
    isList: false,
    parse(text) {
      const value = parseByteSize(text);
      if (value !== null && value >= min && value <= max) return { value };
      return { rule: `must be a size from ${range}, such as 64MiB, 10MB or a number of bytes` };
    },
    show: formatByteSize,
  };
}

export const duration = durationTo(DAY_MS, '30s or 1m30s');
export const tokenLife = durationTo(TOKEN_LIFE_MS_MAX, '90d or 12h');

function durationTo(maxMs: number, examples: string): Kind<number> {
  return {
    placeholder: '<duration>',
    isList: false,
    parse(text) {
      const value = parseDurationMs(text);
      return value !== null && value <= maxMs
        ? { value }
        : { rule: `must be a duration up to ${formatDurationMs(maxMs)}, such as ${examples}` };
    },
    show: formatDurationMs,
  };
}

/** The URL of a database. Null means the file in the data directory. */
export const storeUrl: Kind<string | null> = {
  placeholder: '<url>',
  isList: false,
  parse(text) {
    const parsed = parseDatabaseUrl(text);
    return 'rule' in parsed ? parsed : { value: text };
  },
  show: (value) => value ?? 'a file in the data directory',
};

export const onOff: Kind<boolean> = {
  placeholder: null,
  isList: false,
  parse(text) {
    if (text === 'true' || text === '1') return { value: true };
    return text === 'false' || text === '0' ? { value: false } : { rule: 'must be true or false' };
  },
  show: String,
};

export function text(placeholder: string, pattern: RegExp, rule: string): Kind<string> {
  return {
    placeholder,
    isList: false,
    parse: (value) => (pattern.test(value) ? { value } : { rule }),
    show: String,
  };
}

export const metricsToken = text(
  '<token>',
  /^[!-~]{16,256}$/,
  'must be 16 to 256 printable ASCII characters without blanks',
);

export const adminToken = text(
  '<token>',
  /^[!-~]{32,256}$/,
  'must be 32 to 256 printable ASCII characters without blanks',
);

export const publicUrl = text(
  '<url>',
  /^https?:\/\/[\w.:[\]-]{1,255}(?:\/[\w.~/-]*[\w.~-])?$/,
  'must be an http(s) URL without a slash at its end, such as https://queue.example.com',
);

export const name: Kind<string> = {
  placeholder: '<name>',
  isList: false,
  parse: (value) => (isName(value) ? { value } : { rule: `must be ${NAME_RULE}` }),
  show: String,
};

/** A kind whose value may also be null. Null is shown as `nothing`. */
export function nullable<T>(kind: Kind<T>, nothing: string): Kind<T | null> {
  return { ...kind, show: (value) => (value === null ? nothing : kind.show(value)) };
}

const HOST_NAME = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i;

export const hostNames: Kind<readonly string[]> = {
  placeholder: '<name,…>',
  isList: true,
  parse(list) {
    const value = list.split(',').map((part) => part.trim());
    const problems = value.filter((part) => !HOST_NAME.test(part));
    if (problems.length === 0) return { value };
    return { problems: problems.map((part) => `"${part}" is not a host name such as box.example or *.example.com`) };
  },
  show: (value) => (value.length === 0 ? 'none' : value.join(',')),
};

/** Origins, written as a browser writes them, because they are compared as texts. */
export const origins: Kind<readonly string[]> = {
  placeholder: '<origin,…>',
  isList: true,
  parse(list) {
    const value = [...new Set(list.split(',').map((part) => part.trim()))];
    const problems = value.filter((part) => part !== '*' && !isOrigin(part));
    if (problems.length > 0) {
      return { problems: problems.map((part) => `"${part}" is not an origin such as https://app.example.com, or *`) };
    }
    return { value };
  },
  show: (value) => (value.length === 0 ? 'none' : value.join(',')),
};

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

export const scopes: Kind<readonly Scope[]> = {
  placeholder: '<scope,…>',
  isList: true,
  parse(list) {
    const parts = [...new Set(list.split(',').map((part) => part.trim()))];
    const unknown = parts.filter((part) => !SCOPES.some((scope) => scope === part));
    if (unknown.length === 0) return { value: SCOPES.filter((scope) => parts.includes(scope)) };
    return { problems: unknown.map((part) => `"${part}" is not one of ${SCOPES.join(', ')}`) };
  },
  show: (value) => (value.length === 0 ? 'none' : value.join(',')),
};

export function oneOf<T extends string>(placeholder: string, values: readonly T[]): Kind<T> {
  return {
    placeholder,
    isList: false,
    parse(given) {
      const value = values.find((one) => one === given);
      return value === undefined ? { rule: `must be one of ${values.join(', ')}` } : { value };
    },
    show: String,
  };
}

export const cidrs: Kind<readonly string[]> = {
  placeholder: '<cidr,…>',
  isList: true,
  parse(list) {
    const value = list.split(',').map((part) => part.trim());
    const problems = value.flatMap((part) => wrongRange(part) ?? []);
    return problems.length > 0 ? { problems } : { value };
  },
  show: (value) => (value.length === 0 ? 'none' : value.join(',')),
};

export const tiers: Kind<Tiers> = {
  placeholder: '<json>',
  isList: false,
  parse(json) {
    let overrides: unknown;
    try {
      overrides = JSON.parse(json);
    } catch {
      return { rule: 'must be JSON such as {"free":{"bodyBytesMax":2097152}}' };
    }
    const result = tiersWith(overrides);
    return 'problems' in result ? { problems: result.problems } : { value: result };
  },
  show: (value) => (value === DEFAULT_TIERS ? 'built in' : JSON.stringify(value)),
};
