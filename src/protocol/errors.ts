/**
 * The one table of error codes (wire.md §7). Nothing sends a code that is not in it.
 * A sentence says what happened and what would help. It holds no token, no stack, no absolute path.
 * Pure.
 */

export const ERROR_SENTENCES = {
  request_id_conflict:
    'This id was already used for a different command or input. Send the new request under a new id.',
  capability_denied:
    'The policy or the settings of this device do not allow this tool. describe_tools lists those that are allowed.',
  invalid_request: 'The request frame is malformed.',
  invalid_input: 'The input does not fit the schema of the tool, which describe_tools gives.',
  unknown_tool: 'This device has no tool of that name. Ask describe_tools for the names it has.',
  timeout:
    'The deadline passed before the work was done. Some of it may have taken effect: look first, then ask again with more time.',
  cancelled: 'The request was cancelled.',
  user_declined:
    'The person at the device declined, or did not answer before the deadline. Ask the person before you try again.',
  unavailable: 'The history of this live resource is gone. Start again without a cursor.',
  image_unknown: 'This image_id is unknown or has expired. Take a new screenshot.',
  outcome_unknown:
    'The run of this id was cut off and may or may not have taken effect. Look at the state of the device, then send a new request under a new id.',
  result_expired:
    'This id was answered before and the answer is no longer kept. It is not run again. Look at the state of the device; what is still to be done goes under a new id.',
  output_too_large: 'The output does not fit into a frame. Ask for less at a time.',
  blob_upload_failed:
    'The binary output could not be uploaded and is too big to be sent in a frame. Ask for less, such as a smaller picture, or try again.',
  internal_error: 'The agent failed unexpectedly. The request may be tried again under a new id.',
  screen_unavailable:
    'There is no visible browser window whose active tab can be captured. tab_activate shows a tab, tab_open opens one.',
  capture_restricted:
    'Chrome does not let extensions capture this page. Activate or open an ordinary web page first.',
  tab_not_found: 'There is no tab with this tab_id. Ask tab_list for the tabs there are.',
  page_restricted:
    'This address is closed to the agent, by Chrome or by the policy of this device. Use another one.',
  element_not_found: 'No element matches. Take a new page_snapshot and use a ref from it.',
  element_not_actionable:
    'The element is hidden, disabled or covered. page_snapshot shows what is there now, page_wait waits for a change.',
  page_script_failed:
    'The script in the page failed. The page may be changing: take a new page_snapshot, then try again.',
  navigation_failed: 'The page could not be loaded. Check the address, or try again later.',
  path_invalid:
    'The path is not a legal relative path. Write it from the root of the Storage on, with / between names.',
  path_not_found: 'There is nothing at this path. file_list tells what there is.',
  not_a_text_file:
    'The file is not UTF-8 text or UTF-16 text with a byte order mark. file_read_image reads pictures, file_stat tells what it is.',
  cursor_invalid: 'What this cursor points into has changed. Start again without it.',
  storage_unknown:
    'No Storage of that id is attached to this device. workspace_info lists the Storages that are.',
  storage_unavailable: 'The Storage cannot be reached. A person must repair it on the Storages page.',
  storage_path_exists:
    'There is already something at this path. Take another path, or remove what is there first.',
  storage_state_conflict: 'The state changed since it was last agreed on. Look at it anew, then try again.',
  storage_path_sealed:
    'The path is sealed and read-only until it is unsealed. The mode unseal_path of workspace_storage_path does that.',
  storage_path_unrepresentable:
    'The names cannot be held by the file system of this Storage. Rename them where they come from.',
  storage_hash_mismatch:
    'The content does not have the promised size or hash. Nothing was changed; try again.',
  storage_transport_failed:
    'The storage service could not be reached or failed. Try again later, under a new id.',
  storage_token_rejected:
    'The storage service rejected the token of this job: it may have expired. Get a new token from the platform, then send the job under a new id.',
  storage_quota_exceeded:
    'There is not enough room on this device. Less is to be kept here, or a person must make room.',
  link_unknown: 'There is no such link on this device. workspace_info lists the links of each Storage.',
  link_target_gone: 'The target of the link is gone. link_remove takes the link away.',
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
