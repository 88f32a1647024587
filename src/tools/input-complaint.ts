/**
 * What is wrong with the input of a call, by the tools' schemas (wire.md §7, `invalid_input`). Pure; it needs
 * the compiled validators and not the registry, so that it can stand where no tool is.
 */
import { isJsonObject, type JsonValue } from '../protocol/json';
import { complaint, type Validate } from '../protocol/validation';

/** The tool that runs the tool behind a type (os-interface.md). */
const FRONT = 'os_execute';

/**
 * `validators` are keyed by tool name; `os_actions` maps each type to its tool. The function gives the sentence
 * of the first complaint; null when the input fits, or there is no tool of that name. The input of `os_execute`
 * must fit its own schema first, and then what is in it that of the tool behind: there, an unknown type is not
 * complained of.
 */
export function inputComplaints(
  validators: Readonly<Record<string, Validate>>,
  os_actions: Readonly<Record<string, string>>,
): (command: string, input: JsonValue) => string | null {
  function complain(command: string, input: JsonValue, input_name: string): string | null {
    const validate = own(validators, command);
    return !validate || validate(input) ? null : complaint(validate.errors, input_name);
  }

  return (command, input) => {
    const first = complain(command, input, 'input');
    if (first !== null || command !== FRONT || !isJsonObject(input)) return first;
    const behind = own(os_actions, String(input.type));
    return behind === undefined ? null : complain(behind, input.input ?? {}, 'input.input');
  };
}

/** A name that only the prototype has is no tool. */
function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
