// Finds the description of a header that controls a delivery, by the name that the user typed.

import { KNOWN_SETTINGS, type KnownSetting } from './setting-table.ts';

export function knownSetting(name: string): KnownSetting | undefined {
  const lower = name.toLowerCase();
  return (
    KNOWN_SETTINGS.find((known) => known.name.toLowerCase() === lower) ??
    (lower.startsWith('forward-') ? KNOWN_SETTINGS.find(({ name: each }) => each === 'Forward-') : undefined)
  );
}
