import { prepare, type Reference } from './language/prepare.ts'
import type { Template } from './mail.ts'

/** Every variable of the recipient that the mail uses, of a template that can be read. */
export const referencesOf = ({ subject, body }: Template): Reference[] => [
  ...prepare(subject, { html: false }).references,
  ...prepare(body, { html: true }).references,
]
