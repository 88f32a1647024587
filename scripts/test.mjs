/**
 * Every check there is, in the order in which a fault is cheapest to find; ends with `N passed, N failed`.
 * `--long` runs the long tests too, `--only-long` nothing but them.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildExtension } from './build.mjs';
import { setUp } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const onlyLong = process.argv.includes('--only-long');
const long = onlyLong || process.argv.includes('--long');
const reports = mkdtempSync(join(tmpdir(), 'endue-test-'));
const totals = { passed: 0, failed: 0 };

setUp({ browser: true });
// The pinned vitest and vite load their config as they do; how the next major version would is no concern.
process.env.VITE_CONFIG_NATIVE_IGNORE_WARNING = 'true';

if (!onlyLong) {
  await check('type check', () => run('tsc', ['--noEmit']));
  await check('lint', () => run('biome', ['check', '.']));
  tests('unit');
}
if (await check('build', () => buildExtension({ quiet: true }))) {
  if (!onlyLong) {
    tests('built');
    tests('browser');
  }
  if (long) {
    tests('waiting');
    tests('long');
  }
}

rmSync(reports, { recursive: true, force: true });
console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed > 0 ? 1 : 0;

/**
 * Counts as one check, which fails when `work` says false or throws.
 * @param {string} title @param {() => boolean | Promise<unknown>} work
 */
async function check(title, work) {
  console.log(`\n── ${title}`);
  let ok = false;
  try {
    ok = (await work()) !== false;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
  }
  totals[ok ? 'passed' : 'failed'] += 1;
  return ok;
}

/** Runs one vitest project and adds up its tests; a run without a report counts as one failure. @param {string} project */
function tests(project) {
  console.log(`\n── ${project} tests`);
  const report = join(reports, `${project}.json`);
  const ok = run('vitest', [
    'run',
    '--project',
    project,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]);
  const counted = counts(report);
  totals.passed += counted.passed;
  totals.failed += ok ? counted.failed : Math.max(counted.failed, 1);
}

/** @param {string} report */
function counts(report) {
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
    return { passed: numPassedTests, failed: numFailedTests };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

/** Runs one tool of node_modules. @param {string} tool @param {string[]} args */
function run(tool, args) {
  const path = join(root, 'node_modules', '.bin', tool);
  return spawnSync(path, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0;
}
