import { formatPercent } from '../../ui/text/count.tsx'

type ContactField = { field: string; coverage: number }
export type FieldOption = {
  path: string
  detail: string /** Share of contacts with a value; undefined where everyone has one. */
  coverage: number | undefined
}

const STANDARD: FieldOption[] = [
  { path: 'email', detail: 'address', coverage: undefined },
  { path: 'locale', detail: 'language', coverage: undefined },
  { path: 'unsubscribeUrl', detail: 'link to unsubscribe', coverage: undefined },
  { path: 'manageUrl', detail: 'link to the preferences', coverage: undefined },
]

/** Field names that a design can contain: without braces and quotes. */
const CAN_BE_NAMED = /^[^{}%"'`\\\p{Cc}]+$/u
const MAX_SHOWN = 50

/** Fields that contain the typed text, own fields first. A name that no contact has yet can be used too. */
export function fieldChoices(fields: ContactField[], typed: string): FieldOption[] {
  const own = fields
    .filter(({ field }) => CAN_BE_NAMED.test(field))
    .map(({ field, coverage }) => ({ path: field, detail: `${formatPercent(coverage)} of contacts`, coverage }))
  const query = typed.toLowerCase()
  const found = [...own, ...STANDARD].filter(({ path }) => path.toLowerCase().includes(query))
  const isNew = typed !== '' && CAN_BE_NAMED.test(typed) && !found.some(({ path }) => path === typed)
  return [...found.slice(0, MAX_SHOWN), ...(isNew ? [{ path: typed, detail: 'new, from the request', coverage: 0 }] : [])]
}
