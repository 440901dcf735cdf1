// A line chart over time, drawn by uPlot in the colours of the page.

import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { useTheme } from '../app/theme.ts';

export interface Series {
  readonly label: string;
  /** The name of a colour of the page, such as `delivered`. */
  readonly tone: string;
  readonly values: readonly number[];
}

export function TimeChart({
  at,
  series,
  label,
  height = 220,
}: {
  /** Milliseconds since 1970, one for each value. */
  readonly at: readonly number[];
  readonly series: readonly Series[];
  readonly label: string;
  readonly height?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const theme = useTheme();
  const data: uPlot.AlignedData = [at.map((each) => each / 1000), ...series.map(({ values }) => [...values])];
  const latest = useRef(data);
  latest.current = data;
  const shape = series.map(({ label: name, tone }) => `${name} ${tone}`).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: made anew only when its looks change; data goes in below
  useEffect(() => {
    const target = box.current!;
    const color = (tone: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${tone}`).trim();
    const axis = { stroke: color('ink-3'), font: '11px Inter, system-ui, sans-serif', ticks: { show: false } };
    plot.current = new uPlot(
      {
        width: target.clientWidth,
        height,
        padding: [8, 8, 0, 0],
        legend: { show: false },
        cursor: { points: { size: 6 }, y: false },
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.15)] } },
        axes: [
          { ...axis, grid: { show: false }, values: (_plot, splits) => splits.map(timeOfDay) },
          { ...axis, size: 44, grid: { stroke: color('line'), width: 1 } },
        ],
        series: [
          {},
          ...series.map(({ label: name, tone }) => ({
            label: name,
            stroke: color(tone),
            width: 1.75,
            fill: `color-mix(in srgb, ${color(tone)} 8%, transparent)`,
            points: { show: false },
          })),
        ],
      },
      latest.current,
      target,
    );
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: target.clientWidth, height }));
    watch.observe(target);
    return () => {
      watch.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [theme, shape, height]);

  useEffect(() => plot.current?.setData(latest.current));

  return <div ref={box} role="img" aria-label={label} style={{ height }} className="overflow-hidden" />;
}

function timeOfDay(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hour12: false });
}
