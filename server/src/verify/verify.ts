import { z } from 'zod'
import { selfAndParents } from '../domains/name.ts'
import { readAddress } from '../lib/address.ts'
import type { Dns, DnsOutcome } from '../lib/dns.ts'
import { isForwarder, isPersonal, loadDisposable, loadSpelling } from './providers.ts'

export const Verification = z
  .object({
    email: z.string().describe('As we would store it; as given when it is no address.'),
    valid: z.boolean().describe('It is an address, and its domain takes mail. The other flags do not count against it.'),
    isDisposable: z.boolean(),
    isAlias: z.boolean().describe('At a service that forwards to an address it hides.'),
    isTypo: z.boolean(),
    isPlusAddressed: z.boolean(),
    isPersonalEmail: z.boolean().describe('At a provider of personal mailboxes.'),
    domainExists: z.boolean(),
    hasWebsite: z.boolean().describe('The domain has an address to connect to. Nobody connects to it.'),
    hasMxRecords: z.boolean(),
    suggestedEmail: z.string().optional(),
    reasons: z.array(z.string()).describe('What is wrong or worth knowing; says so when DNS could not be asked.'),
  })
  .meta({ id: 'AddressVerification' })

type Facts = Pick<z.output<typeof Verification>, 'domainExists' | 'hasWebsite' | 'hasMxRecords'> & { problem: string | undefined }

/** Leaves a second of the five in which we promise an answer. */
const LOOKUP_MS = 4_000

/** Judges an address by its spelling, by lists, and by DNS. Connects to nothing else. */
export async function verifyAddress(dns: Dns, given: string): Promise<z.output<typeof Verification>> {
  const email = readAddress(given)
  if (!email) return notAnAddress(given)
  const at = email.lastIndexOf('@')
  const [local, domain] = [email.slice(0, at), email.slice(at + 1)]
  const [facts, isListed, spell] = await Promise.all([factsOf(dns, domain), loadDisposable(), loadSpelling()])
  const { problem, ...known } = facts

  const isDisposable = selfAndParents(domain).some(isListed)
  const isAlias = selfAndParents(domain).some(isForwarder)
  const isPersonalEmail = isPersonal(domain)
  const isPlusAddressed = local.includes('+')
  const meant = isPersonalEmail ? undefined : spell(domain)
  // Of a domain that takes mail we only believe that a large provider was meant: `shop.lv` need not be `shop.co`.
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

const notAnAddress = (given: string) => ({
  email: given,
  valid: false,
  isDisposable: false,
  isAlias: false,
  isTypo: false,
  isPlusAddressed: false,
  isPersonalEmail: false,
  domainExists: false,
  hasWebsite: false,
  hasMxRecords: false,
  reasons: ['Not a valid email address.'],
})

async function factsOf(dns: Dns, domain: string): Promise<Facts> {
  const [mx, ns, a, aaaa] = await Promise.all([
    dns.recall('MX', domain, LOOKUP_MS),
    dns.recall('NS', domain, LOOKUP_MS),
    dns.recall('A', domain, LOOKUP_MS),
    dns.recall('AAAA', domain, LOOKUP_MS),
  ])
  const all = [mx, ns, a, aaaa]
  // "No such record" is also an answer about a name that exists.
  const domainExists = all.some(({ is }) => is === 'found' || is === 'none')
  // A single MX without a host says: no mail here, ever (RFC 7505).
  const hasMxRecords = mx.is === 'found' && mx.records.some(({ exchange }) => exchange !== '')
  const facts = { domainExists, hasMxRecords, hasWebsite: a.is === 'found' || aaaa.is === 'found' }
  return { ...facts, problem: problemOf(mx, all, facts) }
}

function problemOf(mx: DnsOutcome<unknown>, all: DnsOutcome<unknown>[], { domainExists, hasMxRecords }: Omit<Facts, 'problem'>) {
  if (hasMxRecords) return undefined
  if (mx.is === 'found') return 'The domain takes no mail: it says so by an empty MX record.'
  if (!domainExists && all.some(({ is }) => is === 'missing')) return 'The domain does not exist.'
  if (mx.is === 'unknown') return `Unknown whether the domain ${domainExists ? 'takes mail' : 'exists'}: ${mx.reason}. Try again later.`
  return 'The domain takes no mail: it has no MX records.'
}
