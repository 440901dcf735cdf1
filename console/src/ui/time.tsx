// Times in a readable form: how long ago or how soon, with the exact time on hover.

import { useSyncExternalStore } from 'react';
import { serviceNow } from '../base/service-time.ts';

/** One clock for the whole page. It ticks only while a component uses it. */
const ticking = { listeners: new Set<() => void>(), now: serviceNow(), timer: 0 };

function subscribe(listener: () => void): () => void {
  ticking.listeners.add(listener);
  if (ticking.listeners.size === 1) {
    ticking.now = serviceNow();
    ticking.timer = window.setInterval(() => {
      ticking.now = serviceNow();
      for (const each of ticking.listeners) each();
    }, 1000);
  }
  return () => {
    ticking.listeners.delete(listener);
    if (ticking.listeners.size === 0) clearInterval(ticking.timer);
  };
}

/** The current time of the service, updated every second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => ticking.now);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** A duration in its two largest units, such as `2h 5m`. Below a second, in milliseconds. */
export function durationText(ms: number): string {
  const all = Math.max(0, ms);
  if (all < 1000) return `${Math.round(all)} ms`;
  if (all < 10_000) return `${(Math.floor(all / 100) / 10).toFixed(1)} s`;
  const at = UNITS.findIndex(([, size]) => all >= size);
  const [unit, size] = UNITS[at]!;
  const rest = UNITS[at + 1];
  const whole = Math.floor(all / size);
  const left = rest ? Math.floor((all % size) / rest[1]) : 0;
  return rest && left > 0 ? `${whole}${unit} ${left}${rest[0]}` : `${whole}${unit}`;
}

/** A duration in one unit only, for columns. */
export function shortDuration(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= each) ?? ['s', 1000];
  return `${Math.max(0, Math.floor(ms / size))}${unit}`;
}

export function exactTime(at: number): string {
  return new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');
}

/** The time of day in this machine's time zone, with the date unless it is today. */
export function clockTime(at: number, now = serviceNow()): string {
  const date = new Date(at);
  const isToday = new Date(now).toDateString() === date.toDateString();
  const time = date.toLocaleTimeString(undefined, { hour12: false });
  return isToday ? time : `${date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' })} ${time}`;
}

/** `3m ago`, `in 12s`. */
export function Ago({ at, isShort = false }: { readonly at: number; readonly isShort?: boolean }) {
  const now = useNow();
  const past = now - at;
  const text = isShort
    ? past < -999
      ? `in ${shortDuration(-past)}`
      : past < 1000
        ? 'now'
        : shortDuration(past)
    : past < -999
      ? `in ${durationText(-past)}`
      : past < 2000
        ? 'just now'
        : `${shortDuration(past)} ago`;
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)} className="num">
      {text}
    </time>
  );
}

export function Clock({ at }: { readonly at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)} className="num">
      {clockTime(at)}
    </time>
  );
}
