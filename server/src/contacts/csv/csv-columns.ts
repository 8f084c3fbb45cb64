import { fold, isNegation, isOffState, isOnState } from './csv-words.ts'

/** Names of the address column in exports of common tools and spreadsheets; compared without case, accents and punctuation. */
const ADDRESS_NAMES = keysOf(`
  Email, E-Mail, Mail, Email Address, E-Mail-Adresse, Mail address, Email ID, Email 1, Email1, Primary Email,
  user_email, Customer Email, Contact Email, Subscriber Email, Member Email, Recipient Email, Work Email, Your Email,
  Billing Email, billing_email_address, Customer Email Address, E-mail 1 - Value, Email 1 - Value,
  Mailadresse, Emailadresse, Mail-Adresse,
  Courriel, Adresse courriel, Adresse e-mail, Adresse mail, Adresse électronique, Adresse de messagerie,
  Correo, Correo electrónico, Dirección de correo, Dirección de correo electrónico, Dirección de email,
  Correio eletrônico, Correio eletrónico, Endereço de e-mail, Endereço de correio eletrónico,
  Indirizzo email, Indirizzo e-mail, Indirizzo mail, Posta elettronica, Indirizzo posta elettronica,
  E-mailadres, Emailadres, Mailadres, E-post, E-postadress, E-postadresse, Mailadress, Sähköposti, Sähköpostiosoite,
  Adres e-mail, Adres email, Adres mailowy, Emailová adresa, E-mailová adresa, E-mail cím, Adresă de e-mail, E-posta,
  E-posta adresi, Почта, Эл. почта, Электронная почта, Адрес электронной почты, Електронна пошта, Имейл,
  メール, メールアドレス, Eメール, 邮箱, 邮箱地址, 电子邮箱, 电子邮件, 电子邮件地址, 電子郵件, 電郵, 이메일, 이메일 주소
`)

/** Columns that hold whether, when or why a contact opted out. */
const OPT_OUT_NAMES = keysOf(`
  Unsubscribed, Unsubscribe, Unsubscribed at, Unsubscribed on, Unsubscribe date, Unsubscribe time, Unsubscribed date,
  UNSUB_TIME, CLEAN_TIME, Opt-out, Opted out, Opt-out date, Opt-out time, Email opt-out, Opted out of email, Email opted out,
  Has opted out of email, Unsubscribed from all email, Unsubscribed from all emails, Global unsubscribe, Do not email, Do not mail,
  EMAIL_BLACKLISTED, EMAIL_BLOCKLISTED, Blacklisted, Blocklisted, Blacklist, Blocklist, Suppressed, Bounced, Hard bounced,
  Cleaned, Email hard bounce reason, Complained, Spam complaint, Abgemeldet, Désinscrit, Désabonné
`)
/** HubSpot has one such column for each kind of email: `Opted out of email: Newsletter`. */
const OPT_OUT_PREFIX = nameKey('Opted out of email')

/** Columns in which "no" means that a contact refused marketing emails. */
const CONSENT_NAMES = keysOf(`
  Accepts Marketing, Accepts Email Marketing, subscribed_to_emails, Email Marketing Consent, Marketing consent, Email consent
`)

const STATUS_NAMES = keysOf(`
  Status, Email status, Subscription status, Subscriber status, Contact status, Member status, Marketing status,
  Email marketing status, Email subscription status, List status, Mailing status, State
`)

function nameKey(name: string) {
  return fold(name).replace(/[^\p{L}\p{N}]/gu, '')
}

function keysOf(names: string) {
  return names.split(',').map(nameKey)
}

/** Prefers `email` in any case, then names that contain "mail". Returns -1 if there is no address column. */
export function findAddressColumn(names: string[]) {
  const exact = names.findIndex((name) => name.toLowerCase() === 'email')
  if (exact !== -1) return exact
  const keys = names.map(nameKey)
  const withMail = keys.findIndex((key) => key.includes('mail') && ADDRESS_NAMES.includes(key))
  return withMail === -1 ? keys.findIndex((key) => ADDRESS_NAMES.includes(key)) : withMail
}

/** True for a column whose "yes" means that a contact opted out. */
export const isOptOutName = (name: string) => OPT_OUT_NAMES.includes(nameKey(name)) || nameKey(name).startsWith(OPT_OUT_PREFIX)

/** Returns a function that tells from a cell whether the contact opted out, or undefined if the column is not about opt-outs. */
export function optOutReader(name: string): ((cell: string) => boolean) | undefined {
  const key = nameKey(name)
  if (isOptOutName(name)) return (cell) => !isNegation(cell) && !isOnState(cell) && !isEmptyOrNever(cell)
  if (CONSENT_NAMES.includes(key)) return (cell) => isNegation(cell) || isOffState(cell)
  return STATUS_NAMES.includes(key) ? isOffState : undefined
}

/** Empty, or "never" as exports write it: dashes, zeros, a date of zeros, `null`. */
const isEmptyOrNever = (cell: string) => /^([\s0:./-]*|null|none|n\/a|never)$/i.test(cell.trim())
