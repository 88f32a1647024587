/**
 * All the set-up the other commands need, on a fresh machine with Node 20: the packages of the lock file and
 * a Chromium. Quiet when there is nothing to do. `--no-browser` leaves the browser out.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findChromium, installChromium } from './chromium.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {{ browser: boolean }} options */
export function setUp({ browser }) {
  requireNode();
  installPackages();
  if (browser) requireBrowser();
}

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const least = { 20: 19, 22: 12 }[major];
  if (major >= 24 || (least !== undefined && minor >= least)) return;
  stop(`Node ${process.versions.node} will not do: install Node 20.19, 22.12, 24 or a newer one.`);
}

/** Runs `npm ci` when the lock file is not the one that was installed last. */
function installPackages() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const mark = join(root, 'node_modules', '.installed-lock');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return;
  console.log('Installing the packages (npm ci) …');
  try {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    });
  } catch {
    stop('npm ci failed (see above). A package registry must be reachable.');
  }
  writeFileSync(mark, lock);
}

function requireBrowser() {
  if (findChromium()) return;
  if (process.env.CHROMIUM_PATH) stop('CHROMIUM_PATH does not name a program that can be run.');
  console.log('Installing Chromium (apt-get install chromium) …');
  if (installChromium() && findChromium()) return;
  stop(
    'No Chromium was found and it could not be installed. Install Chromium, or name one in CHROMIUM_PATH.',
  );
}

/** @param {string} sentence @returns {never} */
function stop(sentence) {
  console.error(sentence);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  setUp({ browser: !process.argv.includes('--no-browser') });
}
