/** Finds a Chromium that takes unpacked extensions from the command line, and the flags to start it with. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Branded Chrome is not among them: since version 137 it ignores `--load-extension`. */
const NAMES = ['chromium', 'chromium-browser', 'microsoft-edge', 'msedge', 'chrome'];
const PLACES = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing',
];

/**
 * The path of the browser to test with: `CHROMIUM_PATH` when set, else the first one found, else null.
 * @returns {string | null}
 */
export function findChromium() {
  const named = process.env.CHROMIUM_PATH;
  if (named) return isExecutable(named) ? named : null;
  const directories = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const candidates = [...directories.flatMap((dir) => NAMES.map((name) => join(dir, name))), ...PLACES];
  return candidates.find(isExecutable) ?? null;
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * The same as `findChromium`, for those who cannot go on without one.
 * @returns {string}
 */
export function requireChromium() {
  const path = findChromium();
  if (!path) throw new Error('No Chromium was found. Install Chromium, or name one in CHROMIUM_PATH.');
  return path;
}

/**
 * Flags for an unattended start with one unpacked extension and no traffic of the browser's own; with null,
 * for one whose extensions come from an update server.
 * @param {{ extension: string | null, headless: boolean, profile?: string, language?: string }} options
 * @returns {string[]}
 */
export function chromiumFlags({ extension, headless, profile, language }) {
  return [
    ...(headless ? ['--headless=new'] : []),
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ...(profile ? [`--user-data-dir=${profile}`] : []),
    ...(language ? [`--lang=${language}`] : []),
    ...(extension === null
      ? []
      : [
          `--disable-extensions-except=${extension}`,
          `--load-extension=${extension}`,
          '--disable-background-networking',
        ]),
    '--window-size=1280,800',
    '--no-first-run',
    '--no-default-browser-check',
    '--disable-component-update',
    '--disable-sync',
    '--disable-quic',
    '--disable-gpu',
    '--password-store=basic',
    '--use-mock-keychain',
  ];
}

/**
 * The environment to start it with: in the C locale, names that are not ASCII vanish from folders.
 * @param {string} [language]
 */
export function chromiumEnvironment(language) {
  return { ...process.env, LC_ALL: 'C.UTF-8', ...(language ? { LANGUAGE: language } : {}) };
}

/** Installs Debian's Chromium; only root on a machine with apt can. @returns {boolean} whether it did */
export function installChromium() {
  if (process.getuid?.() !== 0) return false;
  try {
    execFileSync('apt-get', ['update'], { stdio: 'ignore' });
    execFileSync('apt-get', ['install', '-y', '--no-install-recommends', 'chromium', 'fonts-noto-cjk'], {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    return true;
  } catch {
    return false;
  }
}
