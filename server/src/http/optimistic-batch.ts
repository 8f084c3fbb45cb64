import type { RawBuilder } from 'kysely'
import { mayBeOneRequest } from '../db/errors/sql-state.ts'
import { type Pool, type RowsOf, type Tx, transact, transactAtOnce } from '../db/index.ts'
import { type BatchOutcome, createBatcher } from '../lib/concurrency/batch.ts'
import { crash } from '../lib/crash-point.ts'
import type { AppError } from '../lib/errors/errors.ts'
import { type CallerProject, checkCallers, requireCallers } from './auth/key-check.ts'
import { claimKeys, explainRepeats, keyName, lockTimeoutFor, releaseKeys, requireKeys } from './idempotency.ts'

type BatchRequest = {
  project: CallerProject
  /** Idempotency-Key */
  key?: string | undefined
  bodyHash?: string | null
}

/** One request of a batch, with the ids of the rows it will create. A call with a refusal writes nothing. */
export type BatchCall<Request, Ids> = { request: Request; ids: Ids; refusal: AppError | undefined }

/** Runs the statements in one transaction and one round trip, after those that require the API keys and the idempotency keys. */
export type Commit = <Queries extends RawBuilder<unknown>[]>(queries: [...Queries]) => Promise<{ now: Date; rows: RowsOf<Queries> }>

type Options<Request, Ids, Result> = {
  db: Pool
  ttlHours: number
  /** Method and path, stored with an idempotency key. */
  endpoint: string
  newIds: (request: Request) => Ids
  /** The ids that a repeated request is refused with. */
  keyResult: (ids: Ids) => Record<string, unknown>
  /** From when the lifetime of the key counts, if not from now. */
  keyLivesFrom?: (request: Request) => Date | null
  /** True for a request that `atOnce` can serve. */
  plain: (request: Request) => boolean
  /** Serves a batch that nothing is expected to refuse. Fails as a whole if anything does. */
  atOnce: (calls: BatchCall<Request, Ids>[], commit: Commit) => Promise<(call: BatchCall<Request, Ids>) => Result>
  /** Serves any batch. Sets `refusal` on the calls it does not serve. */
  stepByStep: (tx: Tx, calls: BatchCall<Request, Ids>[], now: Date) => Promise<(call: BatchCall<Request, Ids>) => Result>
  limits: Omit<Parameters<typeof createBatcher<Request, Result>>[0], 'name' | 'run' | 'mayBeOneItem'>
}

/**
 * Many concurrent requests become one transaction: a seventh of the work of one each. A batch is written optimistically in one round
 * trip, which nearly always succeeds. If it fails nothing was written, and the batch is repeated step by step to find out which
 * requests are refused and why.
 */
export function createOptimisticBatch<Request extends BatchRequest, Ids, Result>(options: Options<Request, Ids, Result>) {
  const { db, ttlHours, endpoint, newIds, keyResult, keyLivesFrom, plain, atOnce, stepByStep, limits } = options
  type Call = BatchCall<Request, Ids>

  return createBatcher<Request, Result>({
    ...limits,
    name: endpoint,
    mayBeOneItem: mayBeOneRequest,
    run: async (batch) => {
      const outcomes = await runBatch(batch)
      crash('committed')
      return outcomes
    },
  })

  async function runBatch(batch: Request[]) {
    if (mayGoAtOnce(batch)) {
      try {
        return await runAtOnce(batch)
      } catch (err) {
        if (!mayBeOneRequest(err)) throw err
      }
    }
    return transact(db, (tx) => runStepByStep(tx, batch))
  }

  /** Not for a single request with a key: step by step it waits for a concurrent request with the same key. */
  function mayGoAtOnce(batch: Request[]) {
    const keyed = batch.filter(hasKey)
    if (keyed.length && batch.length === 1) return false
    return (
      new Set(keyed.map(({ project, key }) => keyName({ projectId: project.id, key: key! }))).size === keyed.length && batch.every(plain)
    )
  }

  async function runAtOnce(batch: Request[]): Promise<BatchOutcome<Result>[]> {
    const calls = batch.map((request) => newCall(request))
    const answer = await atOnce(calls, (queries) => commit(calls, queries))
    return calls.map((call) => ({ value: answer(call) }))
  }

  async function commit<Queries extends RawBuilder<unknown>[]>(calls: Call[], queries: [...Queries]) {
    const callers = requireCallers(
      calls.map(({ request }) => request.project),
      lockTimeoutFor(calls.length),
    )
    const keyed = calls.filter(({ request }) => hasKey(request))
    crash('keys-taken')
    // Keys before everything else: the lock order of both paths.
    const committed = keyed.length
      ? transactAtOnce(db, [callers, requireKeys(keyed.map(claimOf)), ...queries]).then(([checked, , ...rows]) => ({ checked, rows }))
      : transactAtOnce(db, [callers, ...queries]).then(([checked, ...rows]) => ({ checked, rows }))
    crash('written')
    const { checked, rows } = await committed
    // The rows of `queries`: the compiler cannot take a tuple with a generic tail apart.
    return { now: checked[0]!.now, rows: rows as RowsOf<Queries> }
  }

  /** Writes in the same order as `commit`: keys first, then what the requests ask for. */
  async function runStepByStep(tx: Tx, batch: Request[]): Promise<BatchOutcome<Result>[]> {
    const { refusals, now } = await checkCallers(
      tx,
      batch.map(({ project }) => project),
      lockTimeoutFor(batch.length),
    )
    const calls = batch.map((request, index) => newCall(request, refusals[index]))
    // Keys before state: the first request may have changed what its repeat would be refused for.
    const repeats = await claimCallKeys(tx, calls)
    crash('keys-taken')
    const open = calls.filter((call) => !call.refusal && !repeats.has(call))
    const answer = await stepByStep(tx, open, now)
    await releaseRefused(tx, open)
    await refuseRepeats(tx, [...repeats])
    crash('written')
    return calls.map((call) => (call.refusal ? { error: call.refusal } : { value: answer(call) }))
  }

  /** Returns the calls whose key is already taken. */
  async function claimCallKeys(tx: Tx, calls: Call[]) {
    const keyed = calls.filter(({ request, refusal }) => hasKey(request) && !refusal)
    const claimed = await claimKeys(tx, keyed.map(claimOf), { ttlHours, alone: calls.length === 1 })
    return new Set(keyed.filter((_, index) => !claimed[index]))
  }

  /** A refused request leaves no key. Takes only calls that claimed theirs: the key of any other belongs to an earlier request. */
  async function releaseRefused(tx: Tx, calls: Call[]) {
    const refused = calls.filter(({ request, refusal }) => hasKey(request) && refusal)
    if (refused.length) await releaseKeys(tx, refused.map(claimOf))
  }

  async function refuseRepeats(tx: Tx, repeats: Call[]) {
    const refusals = await explainRepeats(tx, repeats.map(claimOf))
    for (const [index, call] of repeats.entries()) call.refusal = refusals[index]
  }

  function newCall(request: Request, refusal?: AppError): Call {
    return { request, ids: newIds(request), refusal }
  }

  function claimOf({ request, ids }: Call) {
    const { project, key, bodyHash = null } = request
    const livesFrom = keyLivesFrom?.(request) ?? null
    return { projectId: project.id, key: key!, request: endpoint, result: keyResult(ids), livesFrom, bodyHash }
  }
}

const hasKey = ({ key }: BatchRequest) => key !== undefined
