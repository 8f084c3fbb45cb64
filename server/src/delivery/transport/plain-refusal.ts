/**
 * Words and phrases by which real servers say that a recipient is unknown, each under the server where it was seen first. A phrase counts as a
 * whole: "denied" alone is not in the list. None may speak of an end, a plan, a licence, a contract, a block, a policy, a quota, a sender or a
 * connector, since a relay that refuses us says such things with the code of an unknown mailbox.
 */
const SEEN_AT: Record<string, string[]> = {
  Gmail: [
    'the email account that you tried to reach does not exist',
    "please try double-checking the recipient's email address for typos or unnecessary spaces",
    'for more information go to',
    'learn more at',
    'gsmtp',
  ],
  'Exchange Online': [
    'resolver adr recipientnotfound',
    'resolver adr recipnotfound',
    'recipient address rejected access denied',
    'not found by smtp address lookup',
    'remote server returned unknown recipient or mailbox unavailable',
    'for more information see',
    'as',
  ],
  'Outlook.com': ['requested action not taken', 'mailbox unavailable'],
  Exchange: ['user', 'recipient', 'invalid', 'recipient not found'],
  Postfix: [
    'recipient address rejected',
    'recipient rejected',
    'user unknown',
    'unknown user',
    'undeliverable address',
    'address',
    'in local recipient table',
    'in virtual mailbox table',
    'in virtual alias table',
    'in relay recipient table',
    'host said',
    'in reply to rcpt to command',
    'in reply to end of data command',
    'recipient address rejected domain not found',
  ],
  Exim: [
    'unrouteable address',
    'unknown local part',
    'unknown local-part in domain',
    'no such user here',
    'no such person at this address',
    'no such recipient here',
  ],
  Sendmail: ['no such user', 'unknown', 'no such mailbox', 'bad destination mailbox address', 'addressee unknown'],
  qmail: ['sorry', 'no mailbox here by that name', 'chkuser', 'no such address', 'no such mailbox here', 'no user here by that name'],
  Courier: ['mailbox', 'account', 'does not exist here', 'no such account'],
  Cyrus: ['mailbox unknown', 'either there is no mailbox associated with this name or you do not have authorization to see it'],
  Dovecot: ["doesn't exist", 'user does not exist', 'unknown recipient'],
  Haraka: ['i cannot deliver mail for', 'invalid recipient', 'no such alias'],
  OpenSMTPD: ['invalid recipient address', 'destination address'],
  Yahoo: [
    'delivery error',
    'dd',
    "this user doesn't have a account",
    "this user doesn't have an account",
    'requested mail action aborted',
    'mailbox not found',
  ],
  AOL: ['mailbox not found', 'no such user in', 'user is unknown'],
  iCloud: ['does not exist', 'no such user exists', 'user unknown or not local'],
  Zoho: ['user does not exist', 'not a valid recipient', 'mailbox does not exist'],
  Proton: ['address does not exist', 'address not found'],
  'GMX and web.de': ['for explanation visit', 'mailbox is unavailable', 'requested action not taken mailbox unavailable'],
  'T-Online': ['unknown user or mailbox', 'no such customer mailbox'],
  Orange: ["adresse d'au moins un destinataire invalide", 'adresse d au moins un destinataire invalide', 'ofr'],
  'Free and SFR': ['utilisateur inconnu', 'destinataire inconnu', 'user unknown in virtual table'],
  'mail.ru': [
    'message was not accepted invalid mailbox',
    'local mailbox is unavailable user not found',
    'user not found',
    'invalid mailbox',
  ],
  Yandex: ['no such user or mailbox', 'bad recipient address syntax', 'nsmtp'],
  'QQ and 163': [
    'mailbox not exist',
    'invalid user',
    'the recipient may contain a non-existent account please check the recipient address',
    'user not exist',
  ],
  Naver: ['no such user here by that name', 'recipient unknown'],
  Mimecast: ['no such recipient', 'unknown recipient address', 'invalid recipient address or mailbox'],
  Proofpoint: ['user unknown in table', 'recipient address unknown', 'unknown address'],
  Barracuda: ['permanent failure for one or more recipients', 'unknown mailbox'],
  'Sophos and Cisco': [
    'address rejected',
    'invalid address',
    'recipient is unknown',
    'rcpt to',
    'no valid recipients',
    'user is not known here',
  ],
  'Amazon WorkMail': ['recipient does not exist', 'mailbox does not exist here', 'address is unknown'],
  Fastmail: ['unknown or illegal alias', 'no such local user', 'recipient unknown in local table'],
  'Zimbra and Kerio': [
    'account not found',
    'no account by that name here',
    'does not exist on this server',
    'not found on this server',
    'user not known',
  ],
  MDaemon: ['account does not exist', 'local user', 'not a known user'],
  hMailServer: ['unknown account', 'user not local', 'not a local user'],
  Domino: ['not listed in domino directory', 'not listed in public name & address book', 'no match found for recipient'],
  GroupWise: ['no such user at this domain', 'mailbox not known'],
  MailEnable: ['mailbox is unknown', 'no such local mailbox', 'requested action not taken mailbox not found'],
  'small words of all of them': [
    'the',
    'this',
    'that',
    'is',
    'was',
    'by',
    'here',
    'not found',
    'at',
    'email',
    'e-mail',
    'in',
    'nonexistent',
    'non-existent',
  ],
}

/** Words that name a recipient. A refusal that names none, such as a bare code, says nothing about one. */
const NAMES_RECIPIENT =
  /\b(users?|recipients?|mailbox|address(ee)?|account|alias|local[- ]part|person|email|utilisateur|destinataire|recip\w*|deliver mail)\b/

/** By first word. */
const PHRASES = new Map<string, string[][]>()
for (const phrase of [...new Set(Object.values(SEEN_AT).flat())].map(wordsIn)) {
  const [first] = phrase as [string]
  PHRASES.set(first, [...(PHRASES.get(first) ?? []), phrase])
}

/**
 * Whether a refusal says that the recipient is unknown and nothing else: without recipient, host names, numbers, codes and links it consists of
 * listed words only. Any other word may be about us, in whatever language.
 */
export function isPlainRefusal(reply: string, recipient: string) {
  if (reply.length > MAX_LENGTH) return false
  const words = wordsIn(withoutNames(reply, recipient))
  // Up to where the words are made of whole phrases.
  const ends = new Set([0])
  for (let index = 0; index < words.length; index++) {
    if (!ends.has(index)) continue
    for (const phrase of PHRASES.get(words[index]!) ?? [])
      if (phrase.every((word, at) => words[index + at] === word)) ends.add(index + phrase.length)
  }
  if (!ends.has(words.length)) return false
  return NAMES_RECIPIENT.test(words.join(' '))
}

/** Longer replies say more than that a recipient is unknown. Bounds the time for one that is crafted to be slow. */
const MAX_LENGTH = 1_000

const LINK = /\b(?:https?:\/\/|www\.)[^\s<>"')\]]+/g
/** Three labels or more; with two, it could be two sentences without a space. */
const HOST = /^(?:[a-z0-9_-]+\.){2,}(?:com|net|org|edu|gov|mil|info|biz|int|[a-z]{2})$/
/** A word with a digit is a code unless it has a word in it. Ids of Gmail are hexadecimal and end in "si" or "sor" and digits. */
const LETTERS = /[a-z]+/g
const isCode = (chunk: string) =>
  /\d/.test(chunk) &&
  !/[^\x21-\x7e]/.test(chunk) &&
  (chunk.match(LETTERS) ?? []).every((run) => run.length <= 3 || /^[a-f]+(si|sor|sos)?$/.test(run))

function withoutNames(reply: string, recipient: string) {
  const address = recipient.toLowerCase()
  const at = address.lastIndexOf('@')
  const text = reply
    .toLowerCase()
    .replaceAll('’', "'")
    // A reply of several lines repeats its codes.
    .replace(/^\d{3}(?:[- ]|$)(?:\d\.\d{1,3}\.\d{1,3}(?:\s|$))?/gm, '')
    .replace(LINK, ' ')
    .replaceAll(address, ' ')
  const withoutDomain = at < 0 ? text : without(text, address.slice(at + 1), IN_NAME)
  return without(withoutDomain, address.slice(0, Math.max(0, at)), AS_USER)
    .split(/[\s<>()[\]{}"`,;=|]+/)
    .map(withoutPunctuation)
    .filter((chunk) => chunk && !HOST.test(chunk) && !isCode(chunk))
    .join(' ')
}

/** The text around a name. `before` and `after` see some characters only: so the time is linear. */
type Around = { before: RegExp; after: RegExp }
const SEEN = 20
const IN_NAME: Around = { before: /(?<![\p{L}\p{N}.-])$/u, after: /^(?![\p{L}\p{N}-])/u }
/** Only where a server would name a user: a local part may be any word, and "contact billing" must not become "contact". */
const AS_USER: Around = {
  before: /(?:^\s*|["'<([`]|\b(?:user|mailbox|recipient|account|address|alias)[:\s]{1,3})$/,
  after: /^(?![\p{L}\p{N}])/u,
}

/** With a blank for each `name` that stands alone. */
function without(text: string, name: string, { before, after }: Around) {
  if (!name) return text
  let [left, from] = ['', 0]
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, Math.max(at + 1, from))) {
    const end = at + name.length
    const line = text.slice(Math.max(0, at - SEEN), at)
    if (!before.test(at > SEEN && !line.includes('\n') ? `x${line}` : line.slice(line.lastIndexOf('\n') + 1))) continue
    if (!after.test(text.slice(end, end + 2))) continue
    left += `${text.slice(from, at)} `
    from = end
  }
  return left + text.slice(from)
}

const OPENING = "'.:#*!-"
const CLOSING = "'.:!?*-"

function withoutPunctuation(chunk: string) {
  let [start, end] = [0, chunk.length]
  while (start < end && OPENING.includes(chunk[start]!)) start++
  while (end > start && CLOSING.includes(chunk[end - 1]!)) end--
  return chunk.slice(start, end)
}

/** Letters of any script, with apostrophes and hyphens inside. Anything else that is not punctuation counts as a word too. */
function wordsIn(text: string): string[] {
  return text.match(/[\p{L}\p{N}\p{M}]+(?:['-][\p{L}\p{N}\p{M}]+)*|[^\p{L}\p{N}\p{M}\p{P}\s<>+=|`^~$]/gu) ?? []
}
