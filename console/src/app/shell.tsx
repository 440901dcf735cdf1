// The frame around every screen: navigation, palette, keyboard shortcuts.

import { Dialog } from '@base-ui/react/dialog';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { countText, useOverview } from '../base/overview-query.ts';
import { useSession } from '../base/session.ts';
import { toggleTheme, useTheme } from '../base/theme.ts';
import { isTyping } from '../base/typing.ts';
import { Icon, Logo } from '../ui/icon.tsx';
import { ToastProvider } from '../ui/toast.tsx';
import { ManualClock } from './manual-clock.tsx';
import { Palette } from './palette.tsx';
import { SCREENS, screensFor } from './screens.ts';

/** The frame. Notices are inside the router, because they may contain links. */
export function Shell() {
  return (
    <ToastProvider>
      <Frame />
    </ToastProvider>
  );
}

function Frame() {
  const [isPaletteOpen, setIsPaletteOpen] = useState(false);
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  const path = useLocation({ select: ({ pathname }) => pathname });
  useKeys(() => setIsPaletteOpen(true));
  const here = SCREENS.find(({ to }) => path.startsWith(to));
  useEffect(() => {
    document.title = here ? `${here.title} · Postrider` : 'Postrider';
  }, [here]);
  return (
    <div className="flex h-full flex-col md:flex-row">
      <a href="#content" className="btn btn-primary absolute top-2 left-2 z-50 -translate-y-16 focus:translate-y-0">
        Skip to content
      </a>
      <aside className="hidden w-52 shrink-0 flex-col border-r border-line bg-side md:flex">
        <Navigation onSearch={() => setIsPaletteOpen(true)} />
      </aside>
      <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line bg-side px-3 md:hidden">
        <Logo className="size-6" />
        <span className="grow text-base font-semibold">{here?.title ?? 'Postrider'}</span>
        <button
          type="button"
          className="btn btn-quiet btn-icon"
          aria-label="Search"
          onClick={() => setIsPaletteOpen(true)}
        >
          <Icon name="search" />
        </button>
        <button type="button" className="btn btn-quiet btn-icon" aria-label="Menu" onClick={() => setIsMenuOpen(true)}>
          <Icon name="menu" />
        </button>
      </header>
      <Dialog.Root open={isMenuOpen} onOpenChange={setIsMenuOpen}>
        <Dialog.Portal>
          <Dialog.Backdrop className="fixed inset-0 z-40 bg-overlay" />
          <Dialog.Popup className="slide-in fixed inset-y-0 right-0 z-40 flex w-64 flex-col border-l border-line bg-side">
            <Dialog.Title className="sr-only">Menu</Dialog.Title>
            {/* biome-ignore lint/a11y: any click inside is on a link or a button, which closes the menu */}
            <div className="flex grow flex-col" onClick={() => setIsMenuOpen(false)}>
              <Navigation onSearch={() => setIsPaletteOpen(true)} />
            </div>
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      <main id="content" tabIndex={-1} className="flex min-h-0 min-w-0 grow flex-col outline-none">
        <Outlet />
      </main>
      <Palette isOpen={isPaletteOpen} onOpenChange={setIsPaletteOpen} />
    </div>
  );
}

function Navigation({ onSearch }: { readonly onSearch: () => void }) {
  const { account, leave } = useSession();
  const theme = useTheme();
  const { data } = useOverview();
  return (
    <>
      <div className="flex h-14 items-center gap-2.5 px-4">
        <Logo className="size-6" />
        <span className="text-base font-semibold tracking-tight">Postrider</span>
      </div>
      <div className="px-3 pb-3">
        <button
          type="button"
          onClick={onSearch}
          className="flex h-8 w-full items-center gap-2 rounded-md border border-line bg-bg px-2.5 text-sm text-ink-3 hover:border-line-strong"
        >
          <Icon name="search" className="size-3.5" />
          <span className="grow text-left">Go to…</span>
          <kbd className="font-sans text-2xs text-ink-3">⌘K</kbd>
        </button>
      </div>
      <nav aria-label="Screens" className="grow overflow-y-auto px-3">
        <ul className="space-y-0.5">
          {screensFor(account.service.isDev).map(({ to, title, icon }) => (
            <li key={to}>
              <Link
                to={to}
                className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-sm text-ink-2 hover:bg-hover hover:text-ink"
                activeProps={{ className: 'bg-hover text-ink font-medium', 'aria-current': 'page' }}
              >
                <Icon name={icon} />
                <span className="grow">{title}</span>
                {to === '/failures' && data && data.failed > 0 && (
                  <span className="num rounded-full bg-failed-soft px-1.5 text-2xs font-semibold text-failed">
                    {countText(data.failed, data.countedMax)}
                    <span className="sr-only"> failed</span>
                  </span>
                )}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {account.service.isDev && <ManualClock />}
      <div className="flex items-center gap-1 border-t border-line p-3">
        <div className="min-w-0 grow px-1">
          <p className="truncate text-sm font-medium" title={account.name}>
            {account.name}
          </p>
          <p
            className="truncate text-xs text-ink-3"
            title={`Token “${account.token.name}”: ${account.token.scopes.join(', ')}`}
          >
            {account.token.scopes.includes('manage') ? account.tier : 'read only'}
          </p>
        </div>
        <button
          type="button"
          className="btn btn-quiet btn-icon"
          aria-label={theme === 'dark' ? 'Light theme' : 'Dark theme'}
          title={theme === 'dark' ? 'Light theme' : 'Dark theme'}
          onClick={toggleTheme}
        >
          <Icon name={theme === 'dark' ? 'sun' : 'moon'} />
        </button>
        <button type="button" className="btn btn-quiet btn-icon" aria-label="Sign out" title="Sign out" onClick={leave}>
          <Icon name="exit" />
        </button>
      </div>
    </>
  );
}

/** ⌘K opens the palette, `/` focuses the search box, and `g` followed by a letter opens a screen. */
function useKeys(openPalette: () => void): void {
  const navigate = useNavigate();
  const { isDev } = useSession().account.service;
  useEffect(() => {
    let isAfterG = false;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const screen = isAfterG ? screensFor(isDev).find(({ key }) => key === event.key) : undefined;
      isAfterG = event.key === 'g';
      if (screen) void navigate({ to: screen.to });
      else if (event.key === '/') {
        event.preventDefault();
        const box = document.getElementById('search');
        if (box) box.focus();
        else openPalette();
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [navigate, openPalette, isDev]);
}
