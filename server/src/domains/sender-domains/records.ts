import type { Config } from '../../lib/config.ts'
import type { Dns, DnsOutcome } from '../../lib/network/dns.ts'
import { storable } from '../../lib/text/storable.ts'

/** A record to publish, and the check whether a published value is correct. */
export type DnsRecord = {
  type: 'TXT' | 'CNAME'
  name: string
  value: string
  purpose: 'dkim' | 'dmarc' | 'link'
  required: boolean
  isMatchedBy(found: string): boolean
}
type DomainKeys = { domain: string; dkimSelector: string; dkimPublicKey: string; sesTokens: string[]; sesZone: string | null }
/** The part of the configuration that the records depend on. */
export type SendingMethod = { usesSes: boolean; publicUrl: string }
export type RecordFinding = { type: string; name: string; status: 'found' | 'missing' | 'mismatch' | 'unknown'; found: string[] }
/** Result of one check. `unknown`: DNS gave no usable reply. */
export type Verdict = { is: 'proven' } | { is: 'missing' | 'unknown'; why: string }

const LOOKUP_MS = 4_000
/** Published values that are stored: enough to see the mistake. */
const MAX_SHOWN = 10
const MAX_SHOWN_LENGTH = 500

export const sendingMethodOf = ({ transportKind, publicUrl }: Pick<Config, 'transportKind' | 'publicUrl'>): SendingMethod => ({
  usesSes: transportKind === 'ses',
  publicUrl,
})

/**
 * The records a domain should publish. Only the DKIM key is required: receivers check it, and because no other project has the same key it
 * also proves ownership. Amazon SES has keys of its own. No MX and no SPF, because no envelope sender is below this domain.
 */
export const recordsFor = (domain: DomainKeys, { usesSes }: SendingMethod): DnsRecord[] => [
  ...(usesSes ? sesDkim(domain) : [dkim(domain)]),
  dmarc(domain.domain),
]

const dkim = ({ domain, dkimSelector, dkimPublicKey }: DomainKeys): DnsRecord => ({
  type: 'TXT',
  name: `${dkimSelector}._domainkey.${domain}`,
  value: `v=DKIM1; k=rsa; p=${dkimPublicKey}`,
  purpose: 'dkim',
  required: true,
  isMatchedBy: (found) => readTags(found).p === dkimPublicKey,
})

/** Empty until Amazon SES has assigned the tokens. */
const sesDkim = ({ domain, sesTokens, sesZone }: DomainKeys): DnsRecord[] =>
  sesTokens.map((token) => ({
    type: 'CNAME',
    name: `${token}._domainkey.${domain}`,
    value: `${token}.${sesZone}`,
    purpose: 'dkim',
    required: true,
    isMatchedBy: (found) => found.toLowerCase() === `${token}.${sesZone}`.toLowerCase(),
  }))

const dmarc = (domain: string): DnsRecord => ({
  type: 'TXT',
  name: `_dmarc.${domain}`,
  value: 'v=DMARC1; p=none',
  purpose: 'dmarc',
  required: false,
  isMatchedBy: (found) => /^v=DMARC1\s*;/i.test(found),
})

/** Leads the link host of a domain to this installation. */
export function linkRecord(host: string, publicUrl: string): DnsRecord {
  const value = new URL(publicUrl).hostname.toLowerCase()
  const isMatchedBy = (found: string) => found.toLowerCase().replace(/\.$/, '') === value
  return { type: 'CNAME', name: host, value, purpose: 'link', required: false, isMatchedBy }
}

/** `v=DKIM1; k=rsa; p=…` by tag. White space within a value is ignored. */
const readTags = (text: string): Record<string, string | undefined> =>
  Object.fromEntries(text.split(';').map((tag) => [tag.split('=')[0]!.trim(), tag.slice(tag.indexOf('=') + 1).replace(/\s/g, '')]))

/** Looks up all records concurrently. Never throws, and every lookup has a timeout. */
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
  return { status: outcome.records.some(record.isMatchedBy) ? 'found' : 'mismatch', found }
}

/** A missing record outweighs one that could not be looked up. */
export function judgeRecord(records: DnsRecord[], findings: RecordFinding[]): Verdict {
  const unmet = records.flatMap((record, index) => (record.required && findings[index]!.status !== 'found' ? [findings[index]!] : []))
  const absent = unmet.find(({ status }) => status !== 'unknown')
  if (absent)
    return { is: 'missing', why: `${absent.type} ${absent.name} ${absent.status === 'missing' ? 'was not found' : 'has another value'}.` }
  const [unknown] = unmet
  return unknown ? { is: 'unknown', why: `${unknown.type} ${unknown.name} could not be looked up.` } : { is: 'proven' }
}
