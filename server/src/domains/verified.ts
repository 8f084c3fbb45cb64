import type { Db } from '../db/index.ts'
import { fail } from '../lib/errors.ts'

/** Stands in until there are domains: none is verified. */
export async function assertVerified(_db: Db, _projectId: string, address: string): Promise<void> {
  fail('DOMAIN_NOT_VERIFIED', { details: { address } })
}
