// Pages for an unknown address and for a screen that failed.

import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { EmptyState } from '../ui/empty-state.tsx';

export function NotFound() {
  return (
    <EmptyState title="There is nothing here">
      <p>
        The console has no page at this address.{' '}
        <Link to="/messages" className="link">
          Go to the messages
        </Link>
        .
      </p>
    </EmptyState>
  );
}

/** Shows an internal error in one screen. The rest of the console still works. */
export function ScreenError({ error }: ErrorComponentProps) {
  return (
    <EmptyState title="This page failed">
      <p>This is an error in the console. Reload the page. If it happens again, report what you did and this text:</p>
      <p className="mono break-words">{error instanceof Error ? error.message : String(error)}</p>
    </EmptyState>
  );
}
