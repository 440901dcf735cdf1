// Pages for an unknown address and for a screen that failed.

import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { EmptyState } from '../ui/empty-state.tsx';

export function NotFound() {
  return (
    <EmptyState title="There is nothing here">
      <p>
        The address is not one of the console's.{' '}
        <Link to="/messages" className="link">
          Go to the messages
        </Link>
        .
      </p>
    </EmptyState>
  );
}

/** An internal error in one screen. The rest of the console goes on. */
export function Broken({ error }: ErrorComponentProps) {
  return (
    <EmptyState title="This screen broke">
      <p>That is a fault of the console. Reload the page; if it happens again, tell us what you did and these words:</p>
      <p className="mono break-words">{error instanceof Error ? error.message : String(error)}</p>
    </EmptyState>
  );
}
