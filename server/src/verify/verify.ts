import { z } from 'zod'
import { selfAndParents } from '../domains/sender-domains/name.ts'
import type { Dns, DnsOutcome } from '../lib/network/dns.ts'
import { isForwarder, isPersonal, loadDisposable, loadSpelling } from '../lib/network/mailbox-providers.ts'
import { readAddress } from '../lib/text/address.ts'

export const Verification = z
  .object({
    email: z.string().describe('Normalised as it would be stored; unchanged if it is not an address.'),
    valid: z.boolean().describe('The address is well-formed and its domain accepts email. Independent of the other flags.'),
    isDisposable: z.boolean(),
    isAlias: z.boolean().describe('At a forwarding service that hides the real address.'),
    isTypo: z.boolean(),
    isPlusAddressed: z.boolean(),
    isPersonalEmail: z.boolean().describe('At a provider of personal mailboxes.'),
    domainExists: z.boolean(),
    hasWebsite: z.boolean().describe('The domain has an A or AAAA record. No connection is made.'),
    hasMxRecords: z.boolean(),
    suggestedEmail: z.string().optional(),
    reasons: z.array(z.string()).describe('Problems and remarks, including failed DNS lookups.'),
  })
  .meta({ id: 'AddressVerification' })

type DnsFacts = Pick<z.output<typeof Verification>, 'domainExists' | 'hasWebsite' | 'hasMxRecords'> & { problem: string | undefined }

const NOTHING_KNOWN = {
  ...{ valid: false, isDisposable: false, isAlias: false, isTypo: false, isPlusAddressed: false, isPersonalEmail: false },
  ...{ domainExists: false, hasWebsite: false, hasMxRecords: false },
}

/** Leaves one of the promised five seconds for the rest of the request. */
const LOOKUP_MS = 4_000

/** Checks an address by its spelling, by lists, and by DNS. Makes no other connections. */
export async function verifyAddress(dns: Dns, given: string): Promise<z.output<typeof Verification>> {
  const email = readAddress(given)
  if (!email) return { ...NOTHING_KNOWN, email: given, reasons: ['Not a valid email address.'] }
  const at = email.lastIndexOf('@')
  const [local, domain] = [email.slice(0, at), email.slice(at + 1)]
  const [facts, isListed, spell] = await Promise.all([readDnsFacts(dns, domain), loadDisposable(), loadSpelling()])
  const { problem, ...known } = facts

  const isDisposable = selfAndParents(domain).some(isListed)
  const isAlias = selfAndParents(domain).some(isForwarder)
  const isPersonalEmail = isPersonal(domain)
  const isPlusAddressed = local.includes('+')
  const meant = isPersonalEmail ? undefined : spell(domain)
  // For a domain that accepts email only a large provider is suggested: `shop.lv` need not mean `shop.co`.
  const suggested = meant && (meant.isProvider || problem) ? meant.domain : undefined

  const reasons = [
    problem,
    suggested && `Possibly misspelt: did you mean ${suggested}?`,
    isDisposable && 'The domain is one of disposable addresses.',
    isAlias && 'The address belongs to a forwarding service.',
    isPlusAddressed && 'The address is plus-addressed.',
  ].filter((reason) => typeof reason === 'string')
  return {
    email,
    valid: problem === undefined,
    isDisposable,
    isAlias,
    isTypo: suggested !== undefined,
    isPlusAddressed,
    isPersonalEmail,
    ...known,
    ...(suggested ? { suggestedEmail: `${local}@${suggested}` } : {}),
    reasons,
  }
}

async function readDnsFacts(dns: Dns, domain: string): Promise<DnsFacts> {
  const [mx, ns, a, aaaa] = await Promise.all([
    dns.recall('MX', domain, LOOKUP_MS),
    dns.recall('NS', domain, LOOKUP_MS),
    dns.recall('A', domain, LOOKUP_MS),
    dns.recall('AAAA', domain, LOOKUP_MS),
  ])
  const all = [mx, ns, a, aaaa]
  // "No such record" also means that the name exists.
  const domainExists = all.some(({ is }) => is === 'found' || is === 'none')
  // A single MX without a host means that the domain accepts no email (RFC 7505).
  const hasMxRecords = mx.is === 'found' && mx.records.some(({ exchange }) => exchange !== '')
  const facts = { domainExists, hasMxRecords, hasWebsite: a.is === 'found' || aaaa.is === 'found' }
  return { ...facts, problem: problemOf(mx, all, facts) }
}

function problemOf(mx: DnsOutcome<unknown>, all: DnsOutcome<unknown>[], { domainExists, hasMxRecords }: Omit<DnsFacts, 'problem'>) {
  if (hasMxRecords) return undefined
  if (mx.is === 'found') return 'The domain accepts no email: it has an empty MX record.'
  if (!domainExists && all.some(({ is }) => is === 'missing')) return 'The domain does not exist.'
  if (mx.is === 'unknown') return `Unknown whether the domain ${domainExists ? 'accepts email' : 'exists'}: ${mx.reason}. Try again later.`
  return 'The domain accepts no email: it has no MX records.'
}
