/** What the build generates from `schemas.ts` and the tool registry (`scripts/vite-validators.ts`). */
declare module 'virtual:frame-validators' {
  const validators: Record<string, import('./validation').Validate>;
  export default validators;
}

declare module 'virtual:agent-frame-validators' {
  const validators: Record<string, import('./validation').Validate>;
  export default validators;
}

declare module 'virtual:tool-validators' {
  /** The name of the tool behind each OS action type. */
  export const os_actions: Readonly<Record<string, string>>;
  /** The fields of each tool's input, and those that it needs. */
  export const input_fields: Readonly<
    Record<string, { all: readonly string[]; required: readonly string[] }>
  >;
  /** Keyed by tool name. */
  const validators: Record<string, import('./validation').Validate>;
  export default validators;
}
