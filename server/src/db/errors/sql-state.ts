/**
 * All knowledge of SQLSTATE codes. Their first two characters are a class: 22 bad data, 23 constraint, 40 rollback (serialization failure,
 * deadlock), 42 invalid statement, 53 out of resources, 54 too large or too complex.
 */
const stateOf = (err: unknown) => (err as { code?: string }).code ?? ''

const DEADLOCK = '40P01'
const LOCK_TIMEOUT = '55P03'
const STATEMENT_TIMEOUT = '57014'
/** Raised by `require_true`, see `orFail`. */
const CONDITION_FAILED = 'ST001'

/** A row with the same unique value exists. */
export const isDuplicate = (err: unknown) => stateOf(err) === '23505'

/** The row refers to a row that does not exist. */
export const isMissingReference = (err: unknown) => stateOf(err) === '23503'

export const isLockTimeout = (err: unknown) => stateOf(err) === LOCK_TIMEOUT

export const isStatementTimeout = (err: unknown) => stateOf(err) === STATEMENT_TIMEOUT

/** The answer took longer than `query_timeout`: PostgreSQL may be busy with one row for longer than its own limit. Raised by pg, without a state. */
export const isReadTimeout = (err: unknown) => err instanceof Error && err.message === 'Query read timeout'

/** Serialization failure and deadlock: PostgreSQL asks for the whole transaction to be repeated. */
export const isRetryable = (err: unknown) => ['40001', DEADLOCK].includes(stateOf(err))

/** A lock on a table could not be had: also a deadlock with an index build, which waits for transactions that wait for the table. */
export const isTableInUse = (err: unknown) => [LOCK_TIMEOUT, DEADLOCK].includes(stateOf(err))

/** Caused by the statement or its data, not by the state of the server: repeating it fails again. */
export const isPermanent = (err: unknown) => /^(22|23|42|54)/.test(stateOf(err))

/** May be caused by single rows: their data, a constraint, their size, or the time all of them take together. */
export const isBadData = (err: unknown) => /^(22|23|54)/.test(stateOf(err)) || isStatementTimeout(err)

/** May be caused by single requests of a batch: as above, or by a lock, a conflict or an unmet condition of one of them. */
export const mayBeOneRequest = (err: unknown) =>
  isBadData(err) || isLockTimeout(err) || /^40/.test(stateOf(err)) || stateOf(err) === CONDITION_FAILED

/** A text that PostgreSQL cannot store: it has U+0000, as itself or escaped in JSON. */
export const isUnstorableText = (err: unknown) => ['22021', '22P05'].includes(stateOf(err))

export const isWrongPassword = (err: unknown) => stateOf(err) === '28P01'

/** The server is starting, stopping, read-only, out of resources, or slower than our timeouts: the caller may try again. */
export const isServerUnavailable = (err: unknown) => /^(08...|53...|55P03|57014|57P0[1-5]|25006|40001|40P01)$/.test(stateOf(err))
