import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')

/** Texts that people read: the dashboard, the docs, emails to account holders, and the public pages. */
const FOLDERS = [
  'dashboard/src',
  'docs',
  ...['auth', 'projects', 'account-emails', 'preferences', 'billing', 'reputation', 'webhook-endpoints'].map(
    (name) => `server/src/${name}`,
  ),
  // The texts of emails that users begin with.
  ...['workflows/recipes', 'templates/starters'].map((name) => `server/src/${name}`),
]

/** Phrases over which readers stumbled, and what to say instead. */
const BANNED: [phrase: RegExp, instead: string][] = [
  [/none before either/, 'no change'],
  [/\bof sent\b(?!ence)/, 'of 300 sent'],
  [/At most, an? /, 'Wait at most'],
  [/Ask a question/, 'Branch'],
  [/Bring people/, 'Add contacts'],
  [/Takes the branch/, 'Goes to'],
  [/The people are those who match/, 'It goes to everyone who matches at that time'],
  [/is used only once you name its id/, 'choose it to use it'],
  [/What is known about it/, 'Details'],
  [/Half arrive within/, 'Median delivery'],
  [/\bPassing (?:failure|reason)/i, 'Temporary failure'],
  [/(?:Paused|resumes|starts|goes out) by itself/, 'automatically'],
  [/(?:Unsubscribed|Suppressed) meanwhile/, 'after the start'],
  [/as nothing happens meanwhile/, 'because no event arrives'],
  [/longer than nothing/, 'longer than zero'],
  [/This is no JSON/, 'This is not valid JSON'],
  [/in the period before/, 'in the previous period'],
  [/\bPeople that\b/i, 'People who'],
  [/Nobody is blocked|whom nobody writes to/, 'No suppressions'],
  [/comes back for (?:good|a while)/, 'hard bounce, soft bounce'],
  [/if they shall|drawn anew|told the same way|changed, not doubled/, 'see CONTRIBUTING.md, "How we write"'],
  [/\bsuccessfully\b|\bOops\b/, 'say the state'],
  [/(?:land here|end|others end) by themselves|by itself because/, 'automatically'],
  [/\bis no open\b/, 'does not count as an open'],
  [/\bchanges? of (?:the (?:HTML|email|template)\b|templates, )/i, 'changes to'],
  [/everything really happens/, 'emails are sent and webhooks are called'],
  [/did not understand each other/, 'protocol error'],
  [/\bno faster\b/i, 'what limits the rate'],
  [/Returned, for now|bounced for now/, 'Soft bounce'],
  [/\banew\b/, 'again'],
  [/\bfor good\b/, 'permanently'],
  [/\bLooking what\b/, 'Checking what'],
  [/\b(?:this|it|which|that|row) is no (?:[a-z]+ )?(?:email|event|header|value|JSON)\b/i, 'is not an email'],
  [/\bEmpty room\b/, 'Empty space'],
]

const listFiles = (folder: string) => (readdirSync(join(ROOT, folder), { recursive: true }) as string[]).map((file) => `${folder}/${file}`)
const files = ['README.md', ...FOLDERS.flatMap(listFiles)].filter((file) => /\.(?:tsx?|md)$/.test(file) && !/\.test\.tsx?$/.test(file))

/** Comments have readers of their own, and may name a phrase. */
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

const findBanned = (text: string) => BANNED.filter(([phrase]) => phrase.test(text)).map(([phrase, instead]) => `${phrase} → ${instead}`)

describe('texts that people read', () => {
  test('have no banned phrase', () => {
    expect(files.length).toBeGreaterThan(300)
    const found = files.flatMap((file) =>
      findBanned(withoutComments(readFileSync(join(ROOT, file), 'utf8'))).map((each) => `${file}: ${each}`),
    )
    expect(found).toEqual([])
  })

  test('show a percentage in one form: only one file formats it', () => {
    const formatting = files.filter((file) => /style: 'percent'/.test(readFileSync(join(ROOT, file), 'utf8')))
    expect(formatting).toEqual(['dashboard/src/ui/text/count.tsx'])
  })

  test('would be found if they were bad', () => {
    expect(findBanned("'Bring people'")).toHaveLength(1)
    expect(findBanned(withoutComments('/* Bring people */'))).toEqual([])
  })
})
