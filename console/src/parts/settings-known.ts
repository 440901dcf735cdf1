// Finds the headers that control a delivery by the name that was typed.

import { KNOWN_SETTINGS, type KnownSetting } from './setting-table.ts';

export function knownSetting(name: string): KnownSetting | undefined {
  const lower = name.toLowerCase();
  return (
    KNOWN_SETTINGS.find((known) => known.name.toLowerCase() === lower) ??
    (lower.startsWith('forward-') ? KNOWN_SETTINGS.find(({ name: each }) => each === 'Forward-') : undefined)
  );
}
