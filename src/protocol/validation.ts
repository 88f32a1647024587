/** The shape of a compiled validator, and its complaint as a sentence. Pure. */

export interface ValidationError {
  instancePath: string;
  keyword: string;
  message?: string;
  params: Record<string, unknown>;
}

export interface Validate {
  (value: unknown): boolean;
  errors?: ValidationError[] | null;
}

/**
 * The first complaint of a validator as one sentence that names the field, for `invalid_request` and
 * `invalid_input` (wire.md §7). `root` is what the sentence calls the value as a whole.
 */
export function complaint(errors: readonly ValidationError[] | null | undefined, root: string): string {
  const first = errors?.[0];
  if (!errors || !first) return `${root} is malformed.`;
  const choices = exclusiveFields(errors);
  if (choices.length > 1) return `${root} must have exactly one of the fields ${listed(choices)}.`;
  const field = first.instancePath === '' ? root : `${root}${dotted(first.instancePath)}`;
  switch (first.keyword) {
    case 'required':
      return `${field} lacks the field "${String(first.params.missingProperty)}".`;
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const key = first.params.additionalProperty ?? first.params.unevaluatedProperty;
      return `${field} has an unknown field "${String(key)}".`;
    }
    case 'enum':
      return `${field} must be one of ${JSON.stringify(first.params.allowedValues)}.`;
    case 'const':
      return `${field} must be ${JSON.stringify(first.params.allowedValue)}.`;
    case 'minLength':
      return `${field} must have at least ${counted(first.params.limit, 'character')}.`;
    case 'maxLength':
      return `${field} must have at most ${counted(first.params.limit, 'character')}.`;
    case 'minItems':
      return `${field} must have at least ${counted(first.params.limit, 'item')}.`;
    case 'maxItems':
      return `${field} must have at most ${counted(first.params.limit, 'item')}.`;
    default:
      return `${field} ${first.message ?? 'is malformed'}.`;
  }
}

/** The fields of a `oneOf` whose branches each require one field and forbid the others. */
function exclusiveFields(errors: readonly ValidationError[]): string[] {
  if (!errors.some(({ keyword, instancePath }) => keyword === 'oneOf' && instancePath === '')) return [];
  const fields = errors.flatMap(({ keyword, instancePath, params }) => {
    if (keyword === 'required') return [String(params.missingProperty)];
    return keyword === 'false schema' ? [instancePath.slice(1)] : [];
  });
  return [...new Set(fields)].sort();
}

function counted(limit: unknown, what: string): string {
  return `${String(limit)} ${what}${limit === 1 ? '' : 's'}`;
}

function listed(fields: readonly string[]): string {
  return fields.map((field) => `"${field}"`).join(', ');
}

/** A JSON pointer as the dotted path people write: `/a/0/b` becomes `.a.0.b`. */
function dotted(pointer: string): string {
  return pointer.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}
