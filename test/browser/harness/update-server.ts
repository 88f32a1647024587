/** An update server on loopback: gives out the signed package of the built extension, in the version it is told. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { newSigningKey } from '../../../scripts/packaging/crx';
import { documentedPermissions } from '../../../scripts/packaging/documented-permissions';
import { makePackages } from '../../../scripts/packaging/make-packages';
import { readFiles } from '../../../scripts/packaging/zip';
import { EXTENSION_DIRECTORY } from './agent-browser';
import { type Site, startSite } from './site';

const PERMISSIONS = fileURLToPath(new URL('../../../docs/permissions.md', import.meta.url));

export interface UpdateServer {
  extension_id: string;
  /** Of the update XML. */
  update_url: string;
  /** The paths that were asked for, in order. */
  visits: Site['visits'];
  /** From now on this version is the newest. */
  publish(version: string): void;
  close(): Promise<void>;
}

/** Starts with `version` as the newest, and a key of its own. */
export async function startUpdateServer(version: string): Promise<UpdateServer> {
  const site = await startSite();
  const signing_key = newSigningKey();

  function publish(newest: string) {
    const files = readFiles(EXTENSION_DIRECTORY);
    const manifest = JSON.parse(readFileSync(`${EXTENSION_DIRECTORY}/manifest.json`, 'utf8')) as object;
    files.set('manifest.json', new TextEncoder().encode(JSON.stringify({ ...manifest, version: newest })));
    const made = makePackages({
      files,
      signing_key,
      base_url: site.url('/'),
      documented_permissions: documentedPermissions(PERMISSIONS),
      version: newest,
    });
    const serve = (name: string, type: string, content: Uint8Array | string): void =>
      site.serve(`/${name}`, (_request, response) => {
        response.writeHead(200, { 'content-type': type }).end(content);
      });
    serve(made.file_names.crx, 'application/x-chrome-extension', made.crx);
    serve(made.file_names.update_xml, 'text/xml', made.update_xml);
    return made;
  }

  const { extension_id, file_names } = publish(version);
  return {
    extension_id,
    update_url: site.url(`/${file_names.update_xml}`),
    visits: site.visits,
    publish,
    close: site.close,
  };
}
