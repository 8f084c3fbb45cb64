import type { Config } from '../lib/config.ts'
import type { Dns, DnsOutcome } from '../lib/dns.ts'
import { storable } from '../lib/storable.ts'

/** A record to publish, and how to tell that it is there. */
type DnsRecord = {
  type: 'TXT' | 'CNAME'
  name: string
  value: string
  purpose: 'dkim' | 'dmarc'
  required: boolean
  isMetBy(found: string): boolean
}
type Keyed = { domain: string; dkimSelector: string; dkimPublicKey: string; sesTokens: string[]; sesZone: string | null }
/** The part of an installation on which the records depend. */
export type SendingMethod = { usesSes: boolean }
export type RecordFinding = { type: string; name: string; status: 'found' | 'missing' | 'mismatch' | 'unknown'; found: string[] }
/** What one check says of the domain. `unknown` says nothing. */
export type Verdict = { is: 'proven' } | { is: 'missing' | 'unknown'; why: string }

const LOOKUP_MS = 4_000
/** Of what others publish we keep enough to see the mistake. */
const MAX_SHOWN = 10
const MAX_SHOWN_LENGTH = 500

export const siteOf = ({ transportKind }: Pick<Config, 'transportKind'>): SendingMethod => ({ usesSes: transportKind === 'ses' })

/**
 * What a domain should publish. Only the DKIM key is required: it is what receivers check, and no other project has it, so it also proves
 * whose domain this is. Amazon SES brings keys of its own. Neither MX nor SPF: no envelope names a host below this domain.
 */
export const recordsFor = (domain: Keyed, { usesSes }: SendingMethod): DnsRecord[] => [
  ...(usesSes ? sesDkim(domain) : [dkim(domain)]),
  dmarc(domain.domain),
]

function dkim({ domain, dkimSelector, dkimPublicKey }: Keyed): DnsRecord {
  return {
    type: 'TXT',
    name: `${dkimSelector}._domainkey.${domain}`,
    value: `v=DKIM1; k=rsa; p=${dkimPublicKey}`,
    purpose: 'dkim',
    required: true,
    isMetBy: (found) => readTags(found).p === dkimPublicKey,
  }
}

/** None as long as Amazon has not said them. */
const sesDkim = ({ domain, sesTokens, sesZone }: Keyed): DnsRecord[] =>
  sesTokens.map((token) => ({
    type: 'CNAME',
    name: `${token}._domainkey.${domain}`,
    value: `${token}.${sesZone}`,
    purpose: 'dkim',
    required: true,
    isMetBy: (found) => found.toLowerCase() === `${token}.${sesZone}`.toLowerCase(),
  }))

const dmarc = (domain: string): DnsRecord => ({
  type: 'TXT',
  name: `_dmarc.${domain}`,
  value: 'v=DMARC1; p=none',
  purpose: 'dmarc',
  required: false,
  isMetBy: (found) => /^v=DMARC1\s*;/i.test(found),
})

/** `v=DKIM1; k=rsa; p=…` by tag. White space within a value means nothing. */
const readTags = (text: string): Record<string, string | undefined> =>
  Object.fromEntries(text.split(';').map((tag) => [tag.split('=')[0]!.trim(), tag.slice(tag.indexOf('=') + 1).replace(/\s/g, '')]))

/** Looks for all records at once. Never throws, and always ends in time. */
export const findRecords = (dns: Dns, records: DnsRecord[]): Promise<RecordFinding[]> =>
  Promise.all(
    records.map(async (record) => ({
      type: record.type,
      name: record.name,
      ...compare(record, await dns.lookUp(record.type, record.name, LOOKUP_MS)),
    })),
  )

function compare(record: DnsRecord, outcome: DnsOutcome<string>): Pick<RecordFinding, 'status' | 'found'> {
  if (outcome.is === 'unknown') return { status: 'unknown', found: [] }
  if (outcome.is !== 'found') return { status: 'missing', found: [] }
  const found = outcome.records.slice(0, MAX_SHOWN).map((text) => storable(text.slice(0, MAX_SHOWN_LENGTH)))
  return { status: outcome.records.some(record.isMetBy) ? 'found' : 'mismatch', found }
}

/** A missing record outweighs one that could not be looked for. */
export function judgeRecord(records: DnsRecord[], findings: RecordFinding[]): Verdict {
  const wanting = records.flatMap((record, index) => (record.required && findings[index]!.status !== 'found' ? [findings[index]!] : []))
  const absent = wanting.find(({ status }) => status !== 'unknown')
  if (absent)
    return { is: 'missing', why: `${absent.type} ${absent.name} ${absent.status === 'missing' ? 'was not found' : 'has another value'}.` }
  const [unknown] = wanting
  return unknown ? { is: 'unknown', why: `${unknown.type} ${unknown.name} could not be looked up just now.` } : { is: 'proven' }
}
