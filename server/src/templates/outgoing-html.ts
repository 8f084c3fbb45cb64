import { withoutOtherAddresses } from '../lib/address.ts'
import { withFooter } from '../preferences/footer.ts'
import { languageFor } from '../preferences/texts.ts'
import type { Recipient } from './language/variables.ts'
import type { TYPES } from './template.ts'

type From = { fromAddress: string; fromName: string | null; projectName: string }

/**
 * The display name an email is sent with: its own, else the project's. Other addresses are removed from it, so that it cannot pass for another
 * sender: a project may be named after an address, and a template may be older than the check of its name.
 */
export const resolveFromName = ({ fromAddress, fromName, projectName }: From) =>
  (fromName && withoutOtherAddresses(fromName, fromAddress)) ||
  withoutOtherAddresses(projectName, fromAddress) ||
  fromAddress.slice(fromAddress.lastIndexOf('@') + 1)

type Email = { type: (typeof TYPES)[number]; fromName: string; projectLanguage: string }

/** The rendered HTML, with a footer if the email needs one. Delivery and previews share it, so that a preview shows what is sent. */
export const outgoingHtml = ({ type, fromName, projectLanguage }: Email, recipient: Recipient, html: string) =>
  withFooter({
    type,
    html,
    links: recipient,
    language: languageFor(recipient.locale ?? recipient.data.locale, projectLanguage),
    sender: fromName,
  })
