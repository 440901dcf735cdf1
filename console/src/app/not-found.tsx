// An address that is none of ours.

import { Link } from '@tanstack/react-router';
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
