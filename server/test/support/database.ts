import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject } from 'vitest'
import { runSql } from './postgres.ts'

const MAX_WAIT_MS = 40_000
/** A busy machine may take seconds for what takes a moment otherwise, and a test must not fail by it. Milliseconds, the first in seconds. */
const PATIENT =
  'connect_timeout=60&lock_timeout=60000&statement_timeout=60000&query_timeout=90000&idle_in_transaction_session_timeout=90000'

/**
 * A migrated database, copied from the template; `empty` for tests that migrate it themselves. Its connections have longer
 * time limits than those of the product; `isPatient: false` for tests of these limits.
 */
export async function cloneDatabase({ empty = false, isPatient = true } = {}): Promise<{ url: string; drop(): Promise<void> }> {
  const { adminUrl } = inject('postgres')
  const name = `t_${randomBytes(8).toString('hex')}`
  const template = empty ? 'template1' : 'template_sterna'
  // Copying files rather than logging every page: 20 clones at once take 0.8 s instead of 1.2.
  await retryWhileInUse(() => runSql(adminUrl, `create database ${name} template ${template} owner sterna strategy file_copy`))
  return {
    // As the role of the application: a statement that needs a superuser must fail in tests too.
    url: adminUrl.replace('//postgres:', '//sterna:').replace('@/postgres?', `@/${name}?`) + (isPatient ? `&${PATIENT}` : ''),
    async drop() {
      await runSql(adminUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

/** PostgreSQL does not copy a template while a session, if only autovacuum, is connected to it. */
async function retryWhileInUse(work: () => Promise<unknown>) {
  for (const end = Date.now() + MAX_WAIT_MS; ; await sleep(50)) {
    try {
      return await work()
    } catch (err) {
      if ((err as { code?: string }).code !== '55006' || Date.now() > end) throw err
    }
  }
}
