// `postrider check`: checks the whole store and prints what is wrong. With --repair it saves what can be read of a
// damaged log.

import { type CheckReport, checkStore } from '../../../server/src/node/main.ts';
import type { Config } from '../../../server/src/node/settings/config.ts';
import { systemWorld } from '../../../server/src/runtime/world.ts';
import { EXIT } from '../frame/exit-codes.ts';
import { reportFailure } from './report-failure.ts';
import { sizeText } from './size-text.ts';

export async function runCheck(config: Config): Promise<number> {
  const { clock } = systemWorld();
  const startedMs = clock.monotonicMs();
  let report: CheckReport;
  try {
    report = checkStore(config);
  } catch (error) {
    const { message } = error as Error;
    return reportFailure({ text: `postrider check: ${message}`, message, exit: EXIT.failed }, config.json);
  }
  const seconds = (clock.monotonicMs() - startedMs) / 1000;
  process.stdout.write(config.json ? toJson(report, seconds) : summary(report, config, seconds));
  return report.problems.length === 0 ? 0 : 1;
}

function toJson({ problems, bytes, rows, repair, isRunning, isLogGivenUp }: CheckReport, seconds: number): string {
  const counts = Object.fromEntries(rows.map(({ table, rows: count }) => [table, count]));
  return `${JSON.stringify({
    ok: problems.length === 0,
    problems,
    bytes,
    seconds,
    running: isRunning,
    repair,
    logGivenUp: isLogGivenUp,
    rows: counts,
  })}\n`;
}

function summary(report: CheckReport, config: Config, seconds: number): string {
  const { problems, bytes, rows, isRunning, isLogGivenUp } = report;
  const lines = repairLines(report);
  if (isLogGivenUp) {
    lines.push(
      'The store was not closed, and its log is missing. What was only in the log is lost; everything else can be used again.',
    );
  }
  if (problems.length === 0) {
    const rowCount = rows.reduce((sum, each) => sum + each.rows, 0);
    const beside = isRunning ? ' while the service runs' : ', and the log of the last process';
    lines.push(
      `The store in ${config.data} is not damaged: ${sizeText(bytes)}, ${rowCount} rows, every page was read${beside}, in ${seconds.toFixed(1)} s.`,
    );
  } else {
    lines.push(
      `The store in ${config.data} is damaged:`,
      ...problems.map((problem) => `  - ${problem}`),
      'Stop the service, copy the directory, check the disk, and restore a backup.',
    );
  }
  return `${lines.join('\n')}\n`;
}

function repairLines({ repair, problems }: CheckReport): string[] {
  if (!repair) return [];
  if (problems.length > 0) {
    return ['The log is damaged, and its readable part does not match the database. The log was not changed.'];
  }
  const { framesKept, framesLeftOut, pagesLost, keptAs } = repair;
  const lost =
    pagesLost === 0
      ? 'Newer copies of all those pages exist: nothing is lost.'
      : `Up to ${pagesLost} pages went back to an older version: the last writes to them may be lost.`;
  return [
    `The log was damaged: ${framesKept} of its frames were saved, ${framesLeftOut} were not. ${lost}`,
    `The damaged log is kept as ${keptAs}.`,
  ];
}
