/**
 * The one table of error codes (wire.md §7). Nothing sends a code that is not in it.
 * A sentence says what happened and what would help. It holds no token, no stack, no absolute path.
 * Pure.
 */

export const ERROR_SENTENCES = {
  request_id_conflict:
    'This id was already used for a different command or input. Send the new request under a new id.',
  capability_denied: 'The policy or the settings of this device do not allow this tool.',
  invalid_request: 'The request frame is malformed.',
  invalid_input: 'The input does not fit the schema of the tool.',
  unknown_tool: 'This device has no tool of that name. Ask describe_tools for the names it has.',
  timeout: 'The deadline passed before the work was done.',
  cancelled: 'The request was cancelled.',
  user_declined: 'The person at the device declined, or did not answer before the deadline.',
  unavailable: 'The history of this live resource is gone. Start again without a cursor.',
  image_unknown: 'This image_id is unknown or has expired. Take a new screenshot.',
  outcome_unknown:
    'The run of this id was cut off and may or may not have taken effect. Look at the state of the device, then send a new request under a new id.',
  result_expired: 'This id was answered before and the answer is no longer kept. It is not run again.',
  output_too_large: 'The output does not fit into a frame. Ask for less at a time.',
  blob_upload_failed: 'The binary output could not be uploaded and is too big to be sent in a frame.',
  internal_error: 'The agent failed unexpectedly. The request may be tried again under a new id.',
  screen_unavailable: 'There is no visible browser window whose active tab can be captured.',
  capture_restricted:
    'Chrome does not let extensions capture this page. Activate or open an ordinary web page first.',
  tab_not_found: 'There is no tab with this tab_id. Ask tab_list for the tabs there are.',
  page_restricted: 'This address is closed to the agent, by Chrome or by the policy of this device.',
  element_not_found: 'No element matches. Take a new page_snapshot and use a ref from it.',
  element_not_actionable: 'The element is hidden, disabled or covered.',
  page_script_failed: 'The script in the page failed.',
  navigation_failed: 'The page could not be loaded.',
  path_invalid: 'The path is not a legal relative path.',
  path_not_found: 'There is nothing at this path.',
  not_a_text_file: 'The file is not UTF-8 text or UTF-16 text with a byte order mark.',
  cursor_invalid: 'What this cursor points into has changed. Start again without it.',
  storage_unknown: 'No Storage of that id is attached to this device.',
  storage_unavailable: 'The Storage cannot be reached. A person must repair it on the Storages page.',
  storage_path_exists: 'There is already something at this path.',
  storage_state_conflict: 'The state changed since it was last agreed on.',
  storage_path_sealed: 'The path is sealed and read-only until it is unsealed.',
  storage_path_unrepresentable: 'The names cannot be held by the file system of this Storage.',
  storage_hash_mismatch: 'The content does not have the promised size or hash.',
  storage_transport_failed: 'The storage service could not be reached or failed.',
  storage_token_rejected: 'The storage service rejected the token of this job.',
  storage_quota_exceeded: 'There is not enough room on this device.',
  link_unknown: 'There is no such link on this device.',
  link_target_gone: 'The target of the link is gone.',
} as const satisfies Record<string, string>;

export type ErrorCode = keyof typeof ERROR_SENTENCES;

export const ERROR_CODES = Object.keys(ERROR_SENTENCES) as readonly ErrorCode[];

/**
 * A failure with a code from the table. Thrown by tools and cores, turned into a `tool_response` by the
 * router. `message` is the sentence a caller reads: it is the table's unless a better one is given.
 */
export class AgentError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, sentence: string = ERROR_SENTENCES[code]) {
    super(sentence);
    this.name = 'AgentError';
    this.code = code;
  }
}

/** Whatever was thrown, as an `AgentError`; the text of a foreign error is not passed on (it may quote secrets). */
export function toAgentError(thrown: unknown): AgentError {
  return thrown instanceof AgentError ? thrown : new AgentError('internal_error');
}
