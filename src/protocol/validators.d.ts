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
  /** Keyed by tool name. */
  const validators: Record<string, import('./validation').Validate>;
  export default validators;
}
