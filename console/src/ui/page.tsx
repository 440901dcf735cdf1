// The head of a screen and the place for its content, so that all screens begin alike.

import type { ReactNode } from 'react';
import { problemText } from './action.tsx';

/** On a phone the title is hidden, because the bar above shows it. `isOwn`: the bar does not know this title. */
export function PageHead({
  title,
  isOwn = false,
  children,
}: {
  readonly title: string;
  readonly isOwn?: boolean;
  readonly children?: ReactNode;
}) {
  const isBare = !isOwn && !children;
  return (
    <div
      className={`flex min-h-14 shrink-0 flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-4 py-2 md:px-6 ${isBare ? 'max-md:sr-only' : ''}`}
    >
      <h1 className={`grow text-base font-semibold tracking-tight break-all ${isOwn ? '' : 'max-md:sr-only'}`}>
        {title}
      </h1>
      {children}
    </div>
  );
}

export function PageBody({ children }: { readonly children: ReactNode }) {
  return (
    <div className="min-h-0 grow overflow-y-auto">
      <div className="mx-auto w-full max-w-5xl space-y-6 px-4 py-6 md:px-6">{children}</div>
    </div>
  );
}

export function Section({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <section>
      <div className="mb-2 flex min-h-7 items-center gap-2">
        <h2 className="heading grow">{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

interface ResponseStateProps {
  readonly data: unknown;
  readonly error: Error | null;
  /** For use within a row. */
  readonly isSmall?: boolean;
}

/** Shows that the first response is pending, or why the last request failed, even if there is an earlier response. */
export function ResponseState({ data, error, isSmall = false }: ResponseStateProps) {
  if (error) return <ProblemNotice error={error} isSmall={isSmall} />;
  return data === undefined ? <Loading isSmall={isSmall} /> : null;
}

export function Loading({ isSmall = false }: { readonly isSmall?: boolean }) {
  return (
    <p role="status" className={`loading text-ink-3 ${isSmall ? 'text-xs' : 'text-sm'}`}>
      Loading…
    </p>
  );
}

export function ProblemNotice({
  error,
  isSmall = false,
}: {
  readonly error: Error | null;
  readonly isSmall?: boolean;
}) {
  if (!error) return null;
  return (
    <p
      role="alert"
      className={isSmall ? 'text-xs text-failed' : 'rounded-md bg-failed-soft px-3 py-2 text-sm text-failed'}
    >
      {problemText(error)}
    </p>
  );
}
