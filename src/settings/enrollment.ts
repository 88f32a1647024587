/** Understanding what a person pastes as an enrollment (wire.md §1). Pure. */

export interface Enrollment {
  endpoint: string;
  token: string;
}

/** Why a paste is not an enrollment; each is a message key `enrollment_problem_<problem>` of `_locales`. */
export type EnrollmentProblem =
  | 'empty'
  | 'endpoint_missing'
  | 'token_missing'
  | 'endpoint_not_a_url'
  | 'endpoint_not_secure'
  | 'endpoint_wrong_scheme'
  | 'endpoint_user_info'
  | 'endpoint_fragment'
  | 'token_not_sendable'
  | 'ambiguous'
  | 'not_allowed';
