import { domainToASCII } from 'node:url'
import { z } from 'zod'
import { SCOPES } from '../../http/auth/scopes.ts'
import { GivenTime } from '../../http/core/validate.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { parseCidr } from '../../lib/network/cidr.ts'

const MAX_LIST = 50

/** In ASCII, as addresses have it. */
const SenderDomain = z
  .string()
  .max(253)
  .transform((given) => domainToASCII(given.trim().toLowerCase()))
  .refine((domain) => /^([a-z0-9_-]{1,63}\.)+[a-z0-9-]{1,63}$/.test(domain), 'Must be a domain, such as example.com.')

const Networks = z
  .array(z.string().max(50))
  .min(1)
  .max(MAX_LIST)
  .transform((given, context) =>
    given.map((text, index) => {
      const cidr = parseCidr(text.trim())
      if (cidr === null)
        context.addIssue({ code: 'custom', message: 'Must be an IP address or a CIDR, such as 192.0.2.0/24.', path: [index] })
      return cidr ?? ''
    }),
  )

const SETTINGS = {
  name: z.string().trim().min(1).max(100),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).nullish().describe('Only for a secret key; `full` by default.'),
  senderDomains: z.array(SenderDomain).min(1).max(MAX_LIST).nullish().describe('Only for a secret key: the domains it may send from.'),
  networks: Networks.nullish().describe('IP addresses and CIDRs that the key works from.'),
  expiresAt: GivenTime.nullish().describe('In the future. Null: never.'),
}

export const KeyBody = z.object({ kind: z.enum(['secret', 'public']), ...SETTINGS })
export const KeyChanges = z.object({ ...SETTINGS, name: SETTINGS.name.optional() })
export const RotateBody = z.object({
  graceHours: z.int().min(0).max(168).optional().describe('The key before works this much longer. 0 by default.'),
})

type GivenSettings = Partial<z.output<typeof KeyChanges>>
/** Undefined: unchanged. */
export type KeySettings = Omit<GivenSettings, 'expiresAt'> & { expiresAt?: Date | null | undefined }
export type NewKey = Required<KeySettings> & { name: string; kind: 'secret' | 'public' }

/** Refuses settings that the kind of key does not have. */
export function readKeySettings(
  kind: 'secret' | 'public',
  { name, scopes, senderDomains, networks, expiresAt }: GivenSettings,
): KeySettings {
  const until = expiresAt === undefined || expiresAt === null ? expiresAt : new Date(expiresAt)
  if (until && until.getTime() <= Date.now()) invalid('expiresAt', 'Must be in the future.', 'too_small')
  if (kind === 'public') {
    if (scopes) invalid('scopes', 'A public key has no scopes: it can only track events.')
    if (senderDomains) invalid('senderDomains', 'A public key sends no email.')
    return { name, networks, expiresAt: until }
  }
  if (scopes === null) invalid('scopes', 'A secret key needs scopes.', 'invalid_type')
  return {
    name,
    scopes: scopes && [...new Set(scopes)],
    senderDomains: senderDomains && [...new Set(senderDomains)],
    networks,
    expiresAt: until,
  }
}

export function readNewKey({ kind, name, ...given }: z.output<typeof KeyBody>): NewKey {
  const {
    scopes = kind === 'secret' ? ['full'] : null,
    senderDomains = null,
    networks = null,
    expiresAt = null,
  } = readKeySettings(kind, given)
  return { kind, name, scopes, senderDomains, networks, expiresAt }
}
