// The hook for every action that changes something: it makes one API call, is enabled by the token's scope, and shows
// the result.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Call, curl, PostriderError, type Scope } from 'postrider-sdk';
import type { ReactNode } from 'react';
import { API_URL } from '../base/address.ts';
import { isSignedOut, tokenForExamples, useHasScope, useSession } from '../base/session.ts';
import { Icon, type IconName } from './icon.tsx';
import { useToast } from './toast.tsx';

export interface ActionOptions<T> {
  /** Shown after success. */
  readonly done?: string | ((answer: T) => string);
  readonly link?: (answer: T) => ReactNode;
  readonly onDone?: (answer: T) => void;
}

/** A call as a command for the shell. */
export function useCurl(): (call: Call<unknown>) => string {
  const { account } = useSession();
  const token = tokenForExamples(account);
  return (call) =>
    curl(call, { baseUrl: API_URL, headerPrefix: account.service.headerPrefix, ...(token !== null && { token }) });
}

export function useAction<T>(options: ActionOptions<T> = {}) {
  const { client, expire } = useSession();
  const queries = useQueryClient();
  const say = useToast();
  const toCurl = useCurl();
  return useMutation({
    mutationFn: (call: Call<T>) => client.send(call),
    onSuccess: (answer, call) => {
      const { done, link } = options;
      if (done !== undefined) {
        const text = typeof done === 'string' ? done : done(answer);
        say(text, { command: toCurl(call), ...(link && { link: link(answer) }) });
      }
      void queries.invalidateQueries();
      options.onDone?.(answer);
    },
    onError: (error) => {
      if (isSignedOut(error)) expire();
      else say(problemText(error), { isProblem: true });
    },
  });
}

/** What went wrong, and what to do about it if the service does not say so. */
export function problemText(error: Error): string {
  if (error instanceof PostriderError) return error.message.charAt(0).toUpperCase() + error.message.slice(1);
  return 'The service does not respond. Is it running? This page updates automatically when the service responds again.';
}

interface ActionButtonProps<T> extends ActionOptions<T> {
  readonly call: Call<T> | (() => Call<T>);
  readonly scope?: Scope;
  readonly icon?: IconName;
  readonly className?: string;
  readonly isDisabled?: boolean;
  readonly label?: string;
  /** Shown on hover: explains the state of the button. */
  readonly hint?: string;
  readonly children?: ReactNode;
}

export function ActionButton<T>({
  call,
  scope = 'manage',
  icon,
  className = 'btn',
  isDisabled = false,
  label,
  hint,
  children,
  ...options
}: ActionButtonProps<T>) {
  const action = useAction<T>(options);
  const may = useHasScope(scope);
  return (
    <button
      type="button"
      className={className}
      disabled={!may || isDisabled || action.isPending}
      aria-label={label}
      title={may ? (hint ?? label) : missingScopeText(scope)}
      onClick={() => action.mutate(typeof call === 'function' ? call() : call)}
    >
      {icon && <Icon name={icon} className="size-3.5" />}
      {children}
    </button>
  );
}

export function missingScopeText(scope: Scope): string {
  return `Your token lacks the scope “${scope}”`;
}
