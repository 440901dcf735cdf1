// A destination in a readable form: the host first, the path below. A URL from a message is shown as text, never as a
// link.

export interface UrlParts {
  readonly host: string;
  readonly path: string;
}

export function urlParts(url: string): UrlParts {
  const match = /^(https?):\/\/([^/?#]*)(.*)$/is.exec(url);
  if (!match) return { host: url, path: '' };
  return { host: match[2]!, path: match[3] === '' ? '/' : match[3]! };
}

/** The host, without the port that its scheme implies. */
export function shownHost(host: string): string {
  return host.replace(/:(?:443|80)$/, '');
}

export function Destination({ url, method }: { readonly url: string; readonly method?: string }) {
  const { host, path } = urlParts(url);
  return (
    <span className="block min-w-0 leading-[1.125rem]">
      <span className="block truncate text-sm font-medium text-ink">
        {method !== undefined && method !== 'POST' && (
          <span className="mr-1.5 text-2xs font-semibold text-ink-3">{method}</span>
        )}
        {host}
      </span>
      <span className="mono block truncate text-ink-3">{path}</span>
    </span>
  );
}
