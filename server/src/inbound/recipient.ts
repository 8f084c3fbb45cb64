import type { Db } from '../db/index.ts'
import { findReturnPath } from '../delivery/message/return-path.ts'
import { findDomainOwner } from '../domains/verified.ts'
import type { Secrets } from '../lib/secrets.ts'
import { readAddress } from '../lib/text/address.ts'

/** The kinds of addresses that receive messages. */
export type InboundRecipient =
  /** The signed return path of this email. */
  | { is: 'return-path'; projectId: string; emailId: string }
  /** An address of the installation itself, for complaints. */
  | { is: 'operator' }
  | { is: 'project'; projectId: string; address: string; isDisabled: boolean }

/** Local parts that feedback loops are registered with, or that every domain is expected to have. */
const OPERATOR_NAMES = new Set(['abuse', 'complaints', 'fbl', 'postmaster'])

export type Installation = { secrets: Secrets; bounceDomain: string | undefined }

/** Undefined for an unknown address. A return path counts at any domain: the bounce domain may have changed since the email was sent. */
export async function findRecipient(db: Db, { secrets, bounceDomain }: Installation, given: string): Promise<InboundRecipient | undefined> {
  // The only address that is valid without a domain (RFC 5321 section 4.1.1.3).
  if (given.toLowerCase() === 'postmaster') return { is: 'operator' }
  const address = readAddress(given)
  if (!address) return undefined
  const email = await findReturnPath(db, secrets, address)
  if (email) return { is: 'return-path', ...email }
  const [local = '', domain = ''] = address.split('@')
  if (domain === bounceDomain) return OPERATOR_NAMES.has(local) ? { is: 'operator' } : undefined
  const owner = await findDomainOwner(db, domain)
  return owner && { is: 'project', address, ...owner }
}
