/**
 * What is wrong with the input of a call, by the tools' schemas (wire.md §7, `invalid_input`). Pure; it needs
 * the compiled validators and not the registry, so that it can stand where no tool is.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/json';
import { complaint, type Validate } from '../protocol/validation';
import { nearField } from './near-names';

/** The tool that runs the tool behind a type (os-interface.md). */
const FRONT = 'os_execute';

/** The fields of a tool's input, and those that it needs. */
export interface InputFields {
  all: readonly string[];
  required: readonly string[];
}

const NAME_SHOWN = 64;

/**
 * `validators` are keyed by tool name; `os_actions` maps each type to its tool. The function gives the sentence
 * of the first complaint, and with it every field that lacks and one that is unknown, with the one that may be meant; null when the input fits, or there is no tool of that name. The input of `os_execute`
 * must fit its own schema first, and then what is in it that of the tool behind: there, an unknown type is not
 * complained of.
 */
export function inputComplaints(
  validators: Readonly<Record<string, Validate>>,
  os_actions: Readonly<Record<string, string>>,
  fields: Readonly<Record<string, InputFields>> = {},
): (command: string, input: JsonValue) => string | null {
  function complain(command: string, input: JsonValue, input_name: string): string | null {
    const validate = own(validators, command);
    if (!validate || validate(input)) return null;
    const first = complaint(validate.errors, input_name);
    const known = own(fields, command);
    return known && isJsonObject(input) ? withFields(first, input, input_name, known) : first;
  }

  return (command, input) => {
    const first = complain(command, input, 'input');
    if (first !== null || command !== FRONT || !isJsonObject(input)) return first;
    const behind = own(os_actions, String(input.type));
    return behind === undefined ? null : complain(behind, input.input ?? {}, 'input.input');
  };
}

/** What a misspelt field makes of an input: something lacks, and something is unknown. */
function withFields(first: string, input: JsonObject, name: string, { all, required }: InputFields): string {
  const missing = required.filter((field) => !Object.hasOwn(input, field));
  const lacks = `${name} lacks the field${missing.length > 1 ? 's' : ''} ${missing.map((field) => `"${field}"`).join(', ')}`;
  const unknown = Object.keys(input).find((field) => !all.includes(field));
  if (unknown === undefined) return missing.length > 1 ? `${lacks}.` : first;
  const near = nearField(
    unknown,
    all.filter((field) => !Object.hasOwn(input, field)),
  );
  const meant = near === null ? '' : ` Did you mean "${near}"?`;
  const has = `has an unknown field "${unknown.slice(0, NAME_SHOWN)}".${meant}`;
  if (missing.length > 0) return `${lacks} and ${has}`;
  return first.startsWith(`${name} has an unknown field `) ? `${name} ${has}` : `${first} It ${has}`;
}

/** A name that only the prototype has is no tool. */
function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
