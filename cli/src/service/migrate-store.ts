// `postrider migrate-store`: shows the progress of the move, what was compared, and what to do next. A signal ends it
// at once. That is as safe as a crash: the next run continues.

import { type MoveReport, MoveStopped, moveIntoDatabase, storeLocation } from '../../../server/src/node/main.ts';
import type { Config } from '../../../server/src/node/settings/config.ts';
import { systemWorld } from '../../../server/src/runtime/world.ts';
import { EXIT } from '../frame/exit-codes.ts';
import { MoveMeter } from './move-meter.ts';
import { reportFailure } from './report-failure.ts';

export async function runMove(config: Config): Promise<number> {
  const { clock } = systemWorld();
  const meter = config.json ? null : new MoveMeter(process.stderr, clock);
  let report: MoveReport;
  try {
    report = await moveIntoDatabase(config, (progress) => meter?.show(progress));
  } catch (error) {
    meter?.end();
    const { message } = error as Error;
    const kept = 'The rows moved so far are kept: run the command again to continue.';
    const failure =
      error instanceof MoveStopped
        ? { text: `postrider migrate-store stopped: ${message}\n${kept}`, message, hint: kept }
        : { text: `postrider migrate-store cannot start: ${message}`, message };
    return reportFailure({ ...failure, exit: EXIT.failed }, config.json);
  }
  meter?.end();
  process.stdout.write(config.json ? `${JSON.stringify(toJson(report))}\n` : summary(report, config));
  if (!report.isFinished) {
    const different = report.tables.filter(({ isSame }) => !isSame).map(({ table }) => table);
    const message = `these tables differ between the two stores: ${different.join(', ')}`;
    const hint =
      'The move is not finished, and no service starts on the database. Run the move again, into an empty database.';
    return reportFailure(
      { text: `postrider migrate-store: ${message}. ${hint}`, message, hint, exit: EXIT.failed },
      config.json,
    );
  }
  return EXIT.done;
}

function toJson({ isFinished, isResumed, tables, replaced }: MoveReport) {
  return {
    finished: isFinished,
    resumed: isResumed,
    replacedTexts: replaced,
    tables: tables.map(({ table, sourceRows, targetRows, isSame }) => ({
      table,
      sourceRows,
      targetRows,
      same: isSame,
    })),
  };
}

function summary({ isFinished, tables, replaced }: MoveReport, config: Config): string {
  const cells = tables.map(({ table, sourceRows, targetRows, isSame }) => [
    table,
    String(sourceRows),
    String(targetRows),
    isSame ? 'the same' : 'DIFFERENT',
  ]);
  const lines = align([['table', 'rows here', 'rows there', ''], ...cells]);
  if (replaced > 0) {
    lines.push(
      '',
      `${replaced} error texts had a character that PostgreSQL cannot store (U+0000). It was replaced by U+FFFD.`,
    );
  }
  if (isFinished) {
    lines.push(
      '',
      `Everything is in ${storeLocation(config)}, compared row by row.`,
      'Next: postrider serve --store postgres://… (the tokens are the same as before).',
      `${config.data} is marked as moved: no service starts on it, because it would deliver everything a second time.`,
      'Keep the directory until you are sure, then delete it.',
    );
  }
  return `${lines.join('\n')}\n`;
}

function align(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map(([table, here, there, verdict]) =>
    [table!.padEnd(widths[0]!), here!.padStart(widths[1]!), there!.padStart(widths[2]!), verdict].join('  ').trimEnd(),
  );
}
