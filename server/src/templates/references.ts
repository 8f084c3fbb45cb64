import { prepare, type Reference } from './language/prepare.ts'
import type { TemplateSource } from './rendered-email.ts'

/** Every variable of the recipient that the mail uses, of a template that can be read. */
export const referencesOf = ({ subject, body }: TemplateSource): Reference[] => [
  ...prepare(subject, { html: false }).references,
  ...prepare(body, { html: true }).references,
]
