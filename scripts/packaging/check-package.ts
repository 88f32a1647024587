/** What must hold of a package before anybody gets it: nothing more than the documents say, and no code from elsewhere. */
import type { PackageFiles } from './zip';

export interface PackageRules {
  /** The names in docs/permissions.md, host permissions among them. */
  documented_permissions: readonly string[];
  /** Of package.json. */
  version: string;
  /** The address of the update XML, or null where the store brings the updates. */
  update_url: string | null;
}

/** Bytes of the packed zip; what it costs to bring it to a thousand browsers. */
export const LARGEST_ZIP = 300_000;

/** Keys of a manifest by which pages or other extensions get in, or more could be asked for later. */
const UNWANTED_KEYS = [
  'key',
  'content_scripts',
  'externally_connectable',
  'web_accessible_resources',
  'optional_permissions',
  'optional_host_permissions',
  'sandbox',
];

/** The only policy there may be: WebAssembly hashes files as they stream by; all else is files of the package. */
const POLICY = [
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
];

/** Kinds of files that belong into a package. */
const FILE_NAME = /^(?:[\w-]+\/)*[\w.-]+\.(?:js|css|html|json|png|svg)$/;
const CODE_FROM_TEXT = /\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\(\s*["'`]/;
const CODE_FROM_AFAR = /\b(?:import|importScripts)\s*\(\s*["'`](?:https?:|data:|\/\/)/;
const PAGE_FROM_AFAR = /(?:src|href)=["']?(?:https?:)?\/\//;
/** The store's limits. */
const LONGEST_NAME = 75;
const LONGEST_DESCRIPTION = 132;

type Manifest = Record<string, unknown>;

/** One sentence for each thing that is wrong; empty when the package may go out. */
export function checkPackage(files: PackageFiles, zip: Uint8Array, rules: PackageRules): string[] {
  const manifest = readJson(files, 'manifest.json');
  if (!manifest) return ['There is no manifest.json.'];
  return [
    ...checkManifest(manifest, rules),
    ...checkPermissions(manifest, rules.documented_permissions),
    ...checkPolicy(manifest),
    ...checkNamedFiles(manifest, files),
    ...checkTexts(manifest, files),
    ...[...files].flatMap(([name, content]) => checkFile(name, content)),
    ...(zip.length < LARGEST_ZIP ? [] : [`The zip has ${zip.length} bytes, ${LARGEST_ZIP} are too many.`]),
  ];
}

function checkManifest(manifest: Manifest, { version, update_url }: PackageRules): string[] {
  return [
    ...(manifest.manifest_version === 3 ? [] : ['manifest_version is not 3.']),
    ...(manifest.version === version ? [] : [`The version is not ${version}, that of package.json.`]),
    ...((manifest.update_url ?? null) === update_url ? [] : ['update_url is not what it should be.']),
    ...UNWANTED_KEYS.filter((key) => !isEmpty(manifest[key])).map((key) => `The manifest has ${key}.`),
  ];
}

/** The build writes an empty list of web-accessible resources. */
function isEmpty(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

function checkPermissions(manifest: Manifest, documented: readonly string[]): string[] {
  const asked = [...strings(manifest.permissions), ...strings(manifest.host_permissions)];
  return [
    ...asked
      .filter((name) => !documented.includes(name))
      .map((name) => `${name} is asked for and not documented.`),
    ...documented
      .filter((name) => !asked.includes(name))
      .map((name) => `${name} is documented and not asked for.`),
  ];
}

function checkPolicy(manifest: Manifest): string[] {
  const { extension_pages, ...others } = record(manifest.content_security_policy);
  const directives = String(extension_pages)
    .split(';')
    .map((directive) => directive.trim())
    .filter(Boolean)
    .sort();
  const isRight = JSON.stringify(directives) === JSON.stringify(POLICY) && Object.keys(others).length === 0;
  return isRight ? [] : ['The content security policy is not the one it should be.'];
}

function checkNamedFiles(manifest: Manifest, files: PackageFiles): string[] {
  const { background, action, icons, storage } = manifest;
  const named = [
    record(background).service_worker,
    record(action).default_popup,
    ...Object.values(record(record(action).default_icon)),
    ...Object.values(record(icons)),
    record(storage).managed_schema,
  ];
  return named
    .filter((name) => typeof name !== 'string' || !files.has(name))
    .map((name) => `The manifest names ${String(name)}, which is not there.`);
}

function checkTexts(manifest: Manifest, files: PackageFiles): string[] {
  const languages = [...files.keys()].flatMap((name) => /^_locales\/([^/]+)\//.exec(name)?.[1] ?? []);
  if (!languages.includes(String(manifest.default_locale))) return ['The default language is not there.'];
  return languages.flatMap((language) => {
    const texts = record(readJson(files, `_locales/${language}/messages.json`));
    const lengthOf = (key: string): number => String(record(texts[key]).message ?? '').length;
    const [name, description] = [lengthOf('extension_name'), lengthOf('extension_description')];
    return [
      ...(name > 0 && name <= LONGEST_NAME ? [] : [`The name in ${language} has ${name} characters.`]),
      ...(description > 0 && description <= LONGEST_DESCRIPTION
        ? []
        : [`The description in ${language} has ${description} characters.`]),
    ];
  });
}

function checkFile(name: string, content: Uint8Array): string[] {
  if (!FILE_NAME.test(name)) return [`${name} does not belong into a package.`];
  const text = name.endsWith('.png') ? '' : new TextDecoder().decode(content);
  return [
    ...(name.endsWith('.js') && CODE_FROM_TEXT.test(text) ? [`${name} makes code from text.`] : []),
    ...(name.endsWith('.js') && CODE_FROM_AFAR.test(text) ? [`${name} loads code from afar.`] : []),
    ...(name.endsWith('.html') && PAGE_FROM_AFAR.test(text) ? [`${name} loads something from afar.`] : []),
    ...(name.endsWith('.html') && hasInlineScript(text) ? [`${name} has a script of its own.`] : []),
  ];
}

function hasInlineScript(html: string): boolean {
  const scripts = [...html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)];
  return (
    /\son[a-z]+=/.test(html) ||
    scripts.some(([, attributes = '', body = '']) => !/\bsrc=/.test(attributes) || body.trim() !== '')
  );
}

function readJson(files: PackageFiles, name: string): Manifest | null {
  const content = files.get(name);
  return content ? record(JSON.parse(new TextDecoder().decode(content)) as unknown) : null;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
