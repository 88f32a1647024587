/** `docs/tools.md` from the registry and the recorded examples. Pure. */
import { isJsonObject, type JsonObject, type JsonValue } from '../src/protocol/json';
import type { Tool } from '../src/tools/tool';

/** What was asked and answered in a real browser. */
export interface ToolExample {
  input: JsonObject;
  output: JsonObject;
}

export type ToolExamples = Readonly<Record<string, ToolExample>>;

const CLASSES: Record<string, string> = {
  observe: 'looks, changes nothing',
  interact: 'acts in the browser',
  files: 'reads and writes attached Storages',
  powerful: 'can do more than a page can: a person is asked first',
};

const CALLING = [
  'An example is the body of a command. With the stand-in platform (`npm run relay`, whose own lines hold the address and `$device`) it is sent so; `wait` keeps the call open for the result:',
  '```sh\ncurl -s -X POST http://127.0.0.1:8787/api/v1/resources/$device/commands \\\n  -H \'Content-Type: application/json\' -d \'{"command":"tab_list","input":{},"wait":true,"timeout_ms":60000}\'\n```',
  'Every `tab_id`, `ref`, `image_id`, `cursor` and `storage_id` in the examples is of the browser they were recorded in, and so are the hosts: take yours from `tab_list`, `page_snapshot`, `workspace_info` and other answers. Without `storage_id`, file tools mean the only Storage that is attached. `timeout_ms` says how long a command may take, the time a person has to allow it included.',
].join('\n\n');

export function toolDocs(tools: readonly Tool[], examples: ToolExamples): string {
  return `${[
    '# Tools',
    'Made from the registry (`src/tools/registry.ts`) by `npx tsx scripts/generate.ts`; do not edit. The examples are real answers, recorded by `npx tsx scripts/record-examples.ts`; long texts in them are cut at "…".',
    CALLING,
    overview(tools),
    ...tools.map((tool) => section(tool, examples[tool.name])),
  ].join('\n\n')}\n`;
}

function overview(tools: readonly Tool[]): string {
  const rows = tools.map(
    ({ name, class: of, os_action, requires_confirmation }) =>
      `| [\`${name}\`](#${name}) | ${of} | ${os_action ? `\`${os_action}\`` : '–'} | ${requires_confirmation ? 'asks' : ''} |`,
  );
  return [
    '| tool | class | type in `os_execute` | confirmation |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    `Classes: ${Object.entries(CLASSES)
      .map(([name, what]) => `**${name}** ${what}`)
      .join('; ')}. Policy and settings allow, ask or deny by class or by tool ([policy.md](policy.md)).`,
  ].join('\n');
}

function section(tool: Tool, example: ToolExample | undefined): string {
  return [
    `## ${tool.name}`,
    tool.description,
    fields(tool.input_schema),
    ...(example
      ? [block({ command: tool.name, input: example.input }), block(example.output)]
      : ['No example was recorded.']),
  ].join('\n\n');
}

function fields(schema: JsonObject): string {
  const properties = Object.entries(isJsonObject(schema.properties) ? schema.properties : {});
  if (properties.length === 0) return 'Takes no input: `{}`.';
  const required = Array.isArray(schema.required) ? schema.required : [];
  const rows = properties.map(([name, property]) => {
    const { description = '' } = isJsonObject(property) ? property : {};
    const shown = String(description).replaceAll('|', '\\|');
    return `| \`${name}\` | ${typeOf(property)} | ${required.includes(name) ? 'yes' : ''} | ${shown} |`;
  });
  return ['| input | type | required | |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function typeOf(property: JsonValue | undefined): string {
  if (!isJsonObject(property)) return 'any';
  if (Array.isArray(property.enum)) return property.enum.map((one) => `\`${String(one)}\``).join(', ');
  const several = property.anyOf ?? property.oneOf;
  if (Array.isArray(several)) return several.map(typeOf).join(' or ');
  if (Array.isArray(property.type)) return property.type.join(' or ');
  if (property.type === 'array') return `list of ${typeOf(property.items)}`;
  return typeof property.type === 'string' ? property.type : 'any';
}

function block(value: JsonValue): string {
  return `\`\`\`json\n${JSON.stringify(cut(value), null, 2)}\n\`\`\``;
}

const LONGEST_TEXT = 200;
const LONGEST_LIST = 3;

/** Long texts and lists are shown by their beginning. */
function cut(value: JsonValue): JsonValue {
  if (typeof value === 'string')
    return value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value;
  if (Array.isArray(value)) {
    const shown = value.slice(0, LONGEST_LIST).map(cut);
    return value.length > LONGEST_LIST ? [...shown, `… ${value.length - LONGEST_LIST} more`] : shown;
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, cut(member as JsonValue)]));
}
