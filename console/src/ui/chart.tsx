// A chart over time, drawn by uPlot in the colours of the page: stacked bars, and lines.

import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { useTheme } from '../base/theme.ts';

export interface Series {
  readonly label: string;
  /** The name of a colour of the page, such as `delivered`. */
  readonly tone: string;
  readonly values: readonly number[];
  /** Bars are stacked in the order given. A line is not stacked. */
  readonly kind: 'bar' | 'line';
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
  const drawn = stacked(series);
  const end = at.length < 2 ? [] : [2 * at.at(-1)! - at.at(-2)!];
  // Each period is drawn from its beginning to its end, so the last period needs an end of its own.
  const data: uPlot.AlignedData = [
    [...at, ...end].map((each) => each / 1000),
    ...drawn.map(({ values, kind }) => [...values, ...end.map(() => (kind === 'line' ? values.at(-1)! : null))]),
  ];
  const latest = useRef(data);
  latest.current = data;
  const shape = drawn.map(({ label: name, tone }) => `${name} ${tone}`).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: made anew only when its looks change; data goes in below
  useEffect(() => {
    const target = box.current!;
    const color = (tone: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${tone}`).trim();
    const axis = { stroke: color('ink-3'), font: '11px Inter, system-ui, sans-serif', ticks: { show: false } };
    plot.current = new uPlot(
      {
        width: target.clientWidth,
        height,
        padding: [8, 26, 0, 0],
        legend: { show: false },
        cursor: { points: { size: 6 }, y: false },
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.15)] } },
        axes: [
          { ...axis, size: 28, grid: { show: false }, values: (_plot, splits) => splits.map(timeOfDay) },
          { ...axis, size: 44, grid: { stroke: color('line'), width: 1 } },
        ],
        series: [
          {},
          ...drawn.map(({ label: name, tone, kind }) => ({
            label: name,
            stroke: kind === 'line' ? color(tone) : 'transparent',
            width: kind === 'line' ? 1.5 : 0,
            points: { show: false },
            ...(kind === 'bar' && {
              fill: color(tone),
              paths: uPlot.paths.bars!({ size: [0.72, 24], radius: 0.15, align: 1 }),
            }),
            ...(kind === 'line' && { paths: uPlot.paths.stepped!({ align: 1 }) }),
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

/** The tallest bar is drawn first, so that the others cover its lower part. */
function stacked(series: readonly Series[]): Series[] {
  const bars: Series[] = [];
  for (const each of series.filter(({ kind }) => kind === 'bar')) {
    const below = bars[0]?.values;
    bars.unshift({ ...each, values: each.values.map((value, index) => value + (below?.[index] ?? 0)) });
  }
  return [...bars, ...series.filter(({ kind }) => kind === 'line')];
}

function timeOfDay(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hour12: false });
}
