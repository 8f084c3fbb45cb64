import { getDomain } from 'tldts'
import { z } from 'zod'
import { readDomain } from '../../lib/text/address.ts'

/** Leaves room for the longest name published below a domain: a selector and `_domainkey`. */
const MAX_LENGTH = 220

/** A registrable domain or a name below one, in any spelling; read as lower-case ASCII (IDNA). */
export const DomainName = z
  .string()
  .max(1_000)
  .meta({ format: 'hostname' })
  .transform((text, context) => {
    const name = readDomain(text.trim().replace(/\.$/, ''))
    if (name && name.length <= MAX_LENGTH && getDomain(name)) return name
    const message = !name
      ? 'Must be a domain name such as example.com.'
      : name.length > MAX_LENGTH
        ? `Must have at most ${MAX_LENGTH} characters.`
        : 'This is a public suffix, which cannot be owned.'
    context.addIssue({ code: 'invalid_format', format: 'hostname', message, input: text })
    return z.NEVER
  })

/** The name and its parents up to the registered domain. Names under a shared suffix (such as `github.io`) stop below that suffix. */
export function selfAndParents(name: string): string[] {
  const registered = getDomain(name, { allowPrivateDomains: true }) ?? name
  const labels = name.split('.')
  const above = labels.length - registered.split('.').length
  return Array.from({ length: above + 1 }, (_, index) => labels.slice(index).join('.'))
}
