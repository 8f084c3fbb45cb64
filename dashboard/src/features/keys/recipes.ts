import type { ApiKey } from '@sterna/sdk'

type Scope = NonNullable<ApiKey['scopes']>[number]

/** Purposes of a new key. */
export const KEY_RECIPES = [
  { value: 'send', label: 'Send only', hint: 'Sends emails and reads them. For an app or a shop.', kind: 'secret', scopes: ['send'] },
  { value: 'read', label: 'Read only', hint: 'Reads everything but secrets and exports. For reports.', kind: 'secret', scopes: ['read'] },
  { value: 'full', label: 'Full', hint: 'Everything that the secret key of the project may.', kind: 'secret', scopes: ['full'] },
  {
    value: 'public',
    label: 'Public',
    hint: 'Only tracks events. For a website or an app that others run.',
    kind: 'public',
    scopes: undefined,
  },
] as const satisfies { value: string; label: string; hint: string; kind: 'secret' | 'public'; scopes: Scope[] | undefined }[]

/** `example.com, example.org` as a list; undefined when there is none. */
export function readWords(text: string): string[] | undefined {
  const words = text.split(/[\s,]+/).filter(Boolean)
  return words.length ? words : undefined
}

/** The limits of a key, in a few words. */
export function describeLimits({
  kind,
  scopes,
  senderDomains,
  networks,
}: Pick<ApiKey, 'kind' | 'scopes' | 'senderDomains' | 'networks'>): string {
  return [
    kind === 'public' ? 'tracks events' : (scopes ?? []).join(', '),
    senderDomains && `from ${senderDomains.join(', ')}`,
    networks && `in ${networks.join(', ')}`,
  ]
    .filter(Boolean)
    .join(' · ')
}
