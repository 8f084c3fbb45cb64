import type { Db } from '../db/index.ts'
import { findReturnPath } from '../delivery/message/return-path.ts'
import { findOwner } from '../domains/verified.ts'
import { readAddress } from '../lib/address.ts'
import type { Secrets } from '../lib/secrets.ts'

/** Whom a message is for. */
export type InboundRecipient =
  /** It is about this mail: the address is signed. */
  | { is: 'return-path'; projectId: string; emailId: string }
  /** Ours, for whoever tells of complaints about mails. */
  | { is: 'operator' }
  | { is: 'project'; projectId: string; address: string; isDisabled: boolean }

/** Registered where complaints come from, or expected of every domain. */
const OPERATOR = new Set(['abuse', 'complaints', 'fbl', 'postmaster'])

export type Installation = { secrets: Secrets; bounceDomain: string | undefined }

/** Undefined when nobody here has this address. Whatever domain stands behind a signed one: it may have been ours when the mail left. */
export async function findRecipient(db: Db, { secrets, bounceDomain }: Installation, given: string): Promise<InboundRecipient | undefined> {
  // The one address that needs no domain (RFC 5321 section 4.1.1.3).
  if (given.toLowerCase() === 'postmaster') return { is: 'operator' }
  const address = readAddress(given)
  if (!address) return undefined
  const mail = await findReturnPath(db, secrets, address)
  if (mail) return { is: 'return-path', ...mail }
  const [local = '', domain = ''] = address.split('@')
  if (domain === bounceDomain) return OPERATOR.has(local) ? { is: 'operator' } : undefined
  const owner = await findOwner(db, domain)
  return owner && { is: 'project', address, ...owner }
}
