import { describe, expect, test } from 'vitest';
import { AgentError, ERROR_CODES, ERROR_SENTENCES, toAgentError } from '../../../src/protocol/errors';

/** As wire.md §7 lists them. */
const CONTRACT = `request_id_conflict capability_denied storage_path_exists storage_state_conflict
  invalid_request invalid_input unknown_tool timeout cancelled user_declined unavailable image_unknown
  outcome_unknown result_expired output_too_large blob_upload_failed internal_error
  screen_unavailable capture_restricted
  tab_not_found page_restricted element_not_found element_not_actionable page_script_failed navigation_failed
  path_invalid path_not_found not_a_text_file cursor_invalid
  storage_unknown storage_unavailable storage_path_sealed storage_path_unrepresentable storage_hash_mismatch
  storage_transport_failed storage_token_rejected storage_quota_exceeded link_unknown link_target_gone`.split(
  /\s+/,
);

describe('wire.md §7: the one table of error codes', () => {
  test('lists exactly the codes of the contract', () => {
    expect([...ERROR_CODES].sort()).toEqual([...CONTRACT].sort());
  });

  test.each(ERROR_CODES)('%s has a sentence, without a path or an address', (code) => {
    const sentence = ERROR_SENTENCES[code];
    expect(sentence).toMatch(/^[A-Z].{10,}\.$/);
    expect(sentence).not.toMatch(/osat_|https?:|\/\w+\/|[A-Z]:\\/);
  });

  test.each([
    ['storage_unknown', 'workspace_info'],
    ['link_unknown', 'workspace_info'],
    ['storage_token_rejected', 'Get a new token from the platform'],
    ['path_not_found', 'file_list'],
    ['storage_path_sealed', 'unseal_path'],
    ['capability_denied', 'describe_tools'],
    ['element_not_actionable', 'page_wait'],
    ['screen_unavailable', 'tab_open'],
  ] as const)('%s says what to do next: %s', (code, step) => {
    expect(ERROR_SENTENCES[code]).toContain(step);
  });

  test('an AgentError carries the sentence of the table unless it has a better one', () => {
    expect(new AgentError('timeout').message).toBe(ERROR_SENTENCES.timeout);
    expect(new AgentError('invalid_input', 'input.url is missing.')).toMatchObject({
      code: 'invalid_input',
      message: 'input.url is missing.',
    });
  });

  test('the text of a foreign error is not passed on', () => {
    const foreign = new SyntaxError("The subprotocol 'endue-os.token.SECRET9' is invalid.");
    for (const thrown of [foreign, 'SECRET9', { message: 'SECRET9' }, null, undefined]) {
      const error = toAgentError(thrown);
      expect(error.code).toBe('internal_error');
      expect(`${error.message}${error.stack}`).not.toContain('SECRET9');
    }
    const own = new AgentError('timeout');
    expect(toAgentError(own)).toBe(own);
  });
});
