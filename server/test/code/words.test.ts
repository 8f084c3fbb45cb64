import { readdirSync, readFileSync, statSync } from 'node:fs'
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

const listFiles = (path: string) =>
  statSync(join(ROOT, path)).isFile()
    ? [path]
    : (readdirSync(join(ROOT, path), { recursive: true }) as string[]).map((file) => `${path}/${file}`)
const readText = (file: string) => readFileSync(join(ROOT, file), 'utf8')

const files = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'dashboard/README.md', ...FOLDERS]
  .flatMap(listFiles)
  .filter((file) => /\.(?:tsx?|md)$/.test(file) && !/\.test\.tsx?$/.test(file))

/** Comments have readers of their own, and may name a phrase. */
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

const findBanned = (text: string) => BANNED.filter(([phrase]) => phrase.test(text)).map(([phrase, instead]) => `${phrase} → ${instead}`)

/** Comments and pages whose sentences are checked, with the descriptions of the API in the generated client. */
const WRITTEN = [
  ...['server/src', 'dashboard/src', 'sdk/src', 'sdk/cli', 'scripts', 'docs'],
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'dashboard/README.md'],
]

/** A comment or paragraph that begins without its subject. Questions may. */
const BEGINNING = /^(?:Of|Who|Whoever|Whom|Whose|What|Those)\b(?!.*\?)/

/** Ways to write a sentence that readers have to read twice, and why. */
const PATTERNS: [pattern: RegExp, why: string][] = [
  [/\bno more(?=[.,;:]|$)/, 'a verb with "no more" is read as a number: say what stops'],
  [/\bso (?:many|long)\b(?! (?:as|that)\b)/, 'the reader has to look for the number: name it'],
  [/\banew\b/, 'archaic: again'],
  [/^(?!.*: - )[^.:;()?]*\w: [^.:;()?]*\w: /, 'three half sentences in a chain: make two sentences'],
]

/** Comments of TypeScript, and those of the SQL in it, without orders to the linter. */
const commentsOf = (code: string) => [
  ...[...code.matchAll(/^[ \t]*\/\*\*?([\s\S]*?)\*\//gm)].map(([, text]) => text!.replace(/\s*\n\s*\* ?/g, ' ')),
  ...[...code.matchAll(/(?:^[ \t]*(?:\/\/|--) (?!biome-ignore).*\n)+/gm)].map(([lines]) =>
    lines.replace(/\s*(?:^|\n)\s*(?:\/\/|--) ?/g, ' '),
  ),
]

/** Paragraphs and items of Markdown, without code, tables and headings. */
const paragraphsOf = (page: string) =>
  page
    .replace(/^```[\s\S]*?^```/gm, '')
    .split(/\n(?:\s*\n|(?=\s*(?:[-*]|\d+\.) ))/)
    .map((text) => text.replace(/^\s*(?:[-*]|\d+\.) /, ''))
    .filter((text) => !/^\s*[|#]/.test(text))

const sentencesOf = (text: string) => text.replace(/`[^`]*`|"[^"]*"/g, 'x').split(/(?<=[.?!]) /)

const findPatterns = (texts: string[]) =>
  texts.flatMap((text) => {
    const sentences = sentencesOf(text.replace(/\s+/g, ' ').trim())
    const found = PATTERNS.flatMap(([pattern, why]) => sentences.filter((each) => pattern.test(each)).map((each) => `${each} → ${why}`))
    return BEGINNING.test(sentences[0]!) ? [`${sentences[0]} → name the email, worker, caller or row`, ...found] : found
  })

/** Folders of the server whose comments are not checked yet. */
const UNCHECKED =
  /^server\/src\/(?:lib\/(?:concurrency|budget|smtp)|ledger|delivery\/sender\/(?:limits|ledger)|webhook[a-z-]*|nodes|db|delivery\/outbox|jobs|http\/limits)\//

const writtenFiles = WRITTEN.flatMap(listFiles).filter((file) => /\.(?:tsx?|mjs|md)$/.test(file) && !UNCHECKED.test(file))
const textsOf = (file: string) => (file.endsWith('.md') ? paragraphsOf : commentsOf)(readText(file))

describe('texts that people read', () => {
  test('have no banned phrase', () => {
    expect(files.length).toBeGreaterThan(300)
    const found = files.flatMap((file) => findBanned(withoutComments(readText(file))).map((each) => `${file}: ${each}`))
    expect(found).toEqual([])
  })

  test('show a percentage in one form: only one file formats it', () => {
    const formatting = files.filter((file) => /style: 'percent'/.test(readText(file)))
    expect(formatting).toEqual(['dashboard/src/ui/text/count.tsx'])
  })

  test('would be found if they were bad', () => {
    expect(findBanned("'Bring people'")).toHaveLength(1)
    expect(findBanned(withoutComments('/* Bring people */'))).toEqual([])
  })
})

describe('comments and docs', () => {
  test('name their subject, in sentences of one or two parts', () => {
    expect(writtenFiles.length).toBeGreaterThan(1_200)
    expect(writtenFiles.flatMap((file) => findPatterns(textsOf(file)).map((each) => `${file}: ${each}`))).toEqual([])
  })

  test('would be found if they were bad', () => {
    const code = '/** Of a row. */\n/**\n * Waits\n * so long.\n */\n  // Claims no more.\nsql`\n  -- Counts\n  -- anew: a: b: c\n`\n'
    expect(findPatterns(commentsOf(code))).toHaveLength(5)
    expect(findPatterns(paragraphsOf('# What it is\n\n- What it does\n- It\n  does no more.\n\n| What |\n'))).toHaveLength(2)
  })
})
