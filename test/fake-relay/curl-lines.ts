/** The `curl` lines by which a person tries the stand-in; they need only `curl` and a POSIX shell. */

/** A Storage of the stand-in, and a token that its jobs may use. */
export interface StorageToTry {
  storage_id: string;
  token: string;
}

/** All steps, from creating a device. */
export function curlLines(origin: string, storage: StorageToTry): string {
  return `1. Create a device. Paste the answer into the extension's popup: it finds the enrollment in it.

answer=$(curl -s -X POST ${origin}/api/v1/stations/local/devices \\
  -H 'Content-Type: application/json' -d '{"type":"actual","kind":"chrome","name":"my browser"}'); echo "$answer"
device=$(echo "$answer" | sed -E 's/.*"id":"(res_[^"]+)".*/\\1/')

${deviceLines(origin, '$device', storage, 2)}`;
}

/** The steps with a device that is online. `device` is its resource id, or a shell variable that holds it. */
export function deviceLines(origin: string, device: string, storage: StorageToTry, first = 1): string {
  const resource = `${origin}/api/v1/resources/${device}`;
  const { storage_id, token } = storage;
  const call = (command: string, input: object): string =>
    `curl -s -X POST ${resource}/commands \\\n  -H 'Content-Type: application/json' -d '${JSON.stringify({ command, input, wait: true })}'`;
  return `${first}. Send a command to the device when it is online, and read its result.

answer=$(curl -s -X POST ${resource}/commands \\
  -H 'Content-Type: application/json' -d '{"command":"tab_list","input":{}}'); echo "$answer"
command=$(echo "$answer" | sed -E 's/.*"id":"([^"]+)".*/\\1/')
curl -s ${resource}/commands/$command

   Or wait for the result in one call:

curl -s -X POST ${resource}/commands \\
  -H 'Content-Type: application/json' -d '{"command":"workspace_info","input":{},"wait":true}'

${first + 1}. Open a page in front, and fetch the screen to a file. Chrome lets extensions see ordinary web pages only; this one
   needs no network.

${call('tab_open', { url: `${origin}/`, active: true })}
curl -s --fail-with-body -o screen.jpg "${resource}/screen?max_age_ms=1000" && ls -l screen.jpg || cat screen.jpg

${first + 2}. Read the page that is in front, as a program does before it acts on it.

${call('page_snapshot', {})}

${first + 3}. Write a file and save it to the platform. These fail until you have attached the Storage ${JSON.stringify(storage_id)}: in the popup,
   Storages, Manage; storage id ${storage_id}, Inside the browser. Its jobs' token is made for this run of the stand-in alone.

${call('file_write', { storage_id, path: 'notes/today.md', text: 'Tomatoes' })}
${call('workspace_storage_path', { mode: 'save_path', storage_id, path: '', token })}
`;
}
